"""`qe filter`: remove bad pairs from parallel text, by checks and scores.
`qe labels`: make labels from post-edits (HTER) or from several annotators.
`qe align`: align the words of parallel text.
`qe data`: check a dataset, explain formats, fetch public data, translate.
"""

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from features.basics.errors import InputError, known_name
from features.basics.progress import Progress
from qe.cli.shared.application import Application
from qe.cli.shared.options import TextOptions
from qe.cli.shared.printing import Result, Verbatim
from qe.display.numbers import number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qe.data.check import DataReport
    from qe.display.table import Table
    from qe.scoring.filtering import Threshold


def filter_(
    input_: list[Path],
    output: list[Path],
    languages: list[str],
    table: TextOptions,
    progress: Progress,
    rejected: Path | None = None,
    added_checks: list[str] | None = None,
    excluded_checks: list[str] | None = None,
    overrides: list[str] | None = None,
    worst: float | None = None,
    model: str | None = None,
    score_column: str = "score",
    lower_is_better: bool = False,
    require_signature: Path | None = None,
) -> Result:
    """Keep the pairs of a parallel text that pass all checks, and a quality threshold if you give one.

    The usual checks, cheap ones first: `ratio` of the sides' characters (maximum=2.5, allowance=20),
    `length` (minimum=1, maximum=200 words), `copy` (alike=90 %), `numbers` on one side only (maximum=0),
    `language` of each side (share=0.4 of its words in the dictionary, margin=0.1, odds=10 of a third
    language, minimum=4 words). `--with` adds checks of `qe score --flags`: `names`, `negation`; with a
    --model that has a lexicon also `untranslated` and `invented`. Pairs that pass are written unchanged,
    in order.

    Exit code 1 if no pair passes.

    Example:

        qe filter -i train.en -i train.de -o clean.en -o clean.de --languages en de --rejected out.tsv

        qe filter -i pairs.tsv -o clean.tsv --languages en es --without numbers --set length.maximum=80

        qe filter -i pairs.tsv -o clean.tsv --languages en es --model output/demo/model --worst 3.5

    input:
      -i, --input FILE  TSV, CSV, JSONL or Parquet; or twice: source and target text.
      --languages CODE...  Languages of source and target, such as en de.

    checks:
      --with CHECK...  Add checks, such as negation.
      --without CHECK...  Leave out checks.
      --set CHECK.KEY=VALUE  Setting of a check, such as length.maximum=100. Repeatable.

    quality:
      --worst X  The worst score that passes: by --model, otherwise in --score-column. (default: no threshold)
      -m, --model MODEL  Folder of a model or its run, or models:/NAME@champion.
      --score-column NAME  Column of scores that the input already has.
      --lower-is-better  Lower scores in that column are better (HTER and other error rates).

    output:
      -o, --output FILE  A table; or twice, like the input: source and target text.
      --rejected FILE  Table of the rejected pairs, with the columns check and reason.
    """
    from features.text.languages import language_code
    from qe.scoring.checks import Knowledge
    from qe.scoring.filtering import filter_checks, filter_files, parse_settings

    if len(input_) > 2 or (len(output) != len(input_) and len(output) != 1):
        raise InputError("--input and --output are given once (a table) or twice (source, target)")
    if len(languages) != 2:
        raise InputError(f"--languages takes two, source and target, but got {len(languages)}")
    threshold = _threshold(worst, model, score_column, not lower_is_better, require_signature)
    scorer = None if threshold is None else threshold.scorer
    lexicon = None if scorer is None else Knowledge.from_model(scorer.model).lexicon
    checks = filter_checks(
        Knowledge((language_code(languages[0]), language_code(languages[1])), lexicon),
        additional=added_checks or (),
        excluded=excluded_checks or (),
        settings=parse_settings(overrides or ()),
    )
    for name, reason in checks.lacking.items():
        print(f"qe filter: the check '{name}' is skipped: {reason}", file=sys.stderr)
    summary = filter_files(
        input_, output, checks, threshold=threshold, columns=table.headers, layout=table.layout(),
        rejected=rejected, progress=progress,
    )  # fmt: skip
    share = f" ({percent(summary.passing / summary.pairs)})" if summary.pairs else ""
    counts = sorted(summary.refused.items(), key=lambda item: -item[1])
    lines = [f"{summary.passing:,} of {summary.pairs:,} pairs kept{share}"]
    lines += [f"  {count:,} left out: {check}" for check, count in counts]
    return Result("filter", asdict(summary), lines, code=0 if summary.passing else 1)


def _threshold(
    worst: float | None, model: str | None, column: str, higher_is_better: bool, signature: Path | None
) -> "Threshold | None":
    from qe.scoring.filtering import Threshold

    if worst is None:
        if model is not None:
            raise InputError("--model needs --worst", remedy="give the worst score that passes")
        return None
    if not math.isfinite(worst):
        raise InputError(f"--worst must be a finite number, but got {worst}")
    if model is None:
        return Threshold(worst, higher_is_better, column=column)
    from qe.api.models import model_folder
    from qe.scoring.scorer import Options, Scorer

    folder, identity = model_folder(model, signature)
    scorer = Scorer.load(folder, Options(drift=False), identity=identity)
    return Threshold(worst, scorer.model.scale.higher_is_better, scorer)


def labels(
    progress: Progress,
    target: Path | None = None,
    post_edit: Path | None = None,
    target_language: str | None = None,
    source: Path | None = None,
    judges: Path | None = None,
    max_difference: float = 1.0,
    output: Path | None = None,
) -> Result:
    """Compute HTER and error rates by class from post-edits.

    The classes are inflection, reordering, missing, extra and lexical.

    With --judges, one label per segment: the mean of the annotators, weighted 3, 2 and 1 by their standard
    deviations (findings of WMT12, 6.1).

    Examples:

        qe labels --source s.en --target mt.es --post-edit pe.es --target-language es --output labels.tsv

        qe labels --judges effort3scores --output effort.tsv

    input:
      --target FILE  Translations, one per line, plain or gzip.
      --post-edit FILE  Their post-edits, line by line.
      --source FILE  Sources; only their number is checked.
      --judges FILE  Instead of post-edits: scores of several annotators, one line per segment.
      --max-difference X  With --judges: segments whose annotators differ by more get no label.

    output:
      -o, --output FILE  Table with one row per segment: .tsv, .csv, .jsonl or .parquet.
    """
    from features.text.languages import language_code
    from features.text.stems import has_base_forms
    from qe.data.check import edit_rates_table
    from qe.data.labels import from_post_edits
    from qe.data.reading import Reading, equal_lengths
    from qe.data.writing import check_output, save_table

    if output is not None:
        check_output(output)
    location = [] if output is None else [f"per segment: {output}"]
    if judges is not None:
        return _from_judges(judges, max_difference, output, location)
    if target is None or post_edit is None or target_language is None:
        problem = "nothing to make labels from"
        raise InputError(problem, remedy="give --target, --post-edit and --target-language, or --judges")
    files = {"source": source, "target": target, "post_edit": post_edit}
    language = language_code(target_language)
    reading = Reading(Path())
    columns = {name: reading.lines(path) for name, path in files.items() if path is not None}
    equal_lengths(columns)
    edits = from_post_edits(columns["target"].texts, columns["post_edit"].texts, language, progress)
    corpus = edits.corpus()
    if output is not None:
        save_table(edits.table([str(i) for i in range(1, corpus["segments"] + 1)]), output)
    note = f"no base forms for the language '{language}': classes of errors but reordering are undefined"
    notes = [] if has_base_forms(language) else [note]
    return Result("labels", {"corpus": corpus}, [edit_rates_table(corpus), *notes, *location])


def _from_judges(path: Path, max_difference: float, output: Path | None, location: list[str]) -> Result:
    from qe.data.judges import judged_labels
    from qe.data.reading import Reading
    from qe.data.writing import save_table

    reading = Reading(Path())
    labels = judged_labels(reading.matrix(reading.lines(path), "score", None, None), max_difference)
    if output is not None:
        save_table(labels.table(), output)
    summary = labels.to_json()
    weights = ", ".join(map(number, summary["weights"]))
    return Result("labels-judges", {"judges": summary}, [
        f"{summary['segments']} segments, weights of the annotators: {weights}",
        f"{summary['excluded']} segments without a label: their annotators differ by more than "
        f"{max_difference:g}",
        f"labels: mean {number(summary['mean'], 4)}, standard deviation {number(summary['sd'], 4)}",
        *location,
    ])  # fmt: skip


def align(
    source: Path,
    target: Path,
    progress: Progress,
    resources: Path | None = None,
    aligner: str = "hmm",
    with_corpus: bool = False,
    symmetrize: str = "grow-diag-final-and",
    tokenized: bool = False,
    output: Path | None = None,
) -> None:
    r"""Align the words of parallel text with the HMM aligner of a bundle, or with eflomal.

    Writes `i-j` links (source and target token, from 0), one line for each line of the input; an empty line
    gives an empty line. Without --tokenized, positions count the tokens of the bundle's tokenizers.

    eflomal keeps no model: it learns from the text that it aligns, which should be large, or small compared
    with the corpus of a bundle (--with-corpus). It seeds itself: its links differ slightly between runs.

    Example:

        qe align --resources en-es.bundle --source news.en --target news.es --output news.links

        qe align --aligner eflomal --tokenized --source train.en --target train.es --output train.links

    options:
      --source FILE  Source text, one sentence per line, plain or gzip.
      --target FILE  Its translation, line by line.
      --resources DIR  Bundle with the part `aligner` (qe resources build).
      --aligner hmm|eflomal  hmm: the aligner of the bundle; eflomal: learns from the text itself (pip install
          'mtqe[eflomal]').
      --with-corpus  eflomal also learns from the bundle's corpus.
      --symmetrize METHOD  grow-diag-final-and, grow-diag, intersection, union, source-target, target-source,
          or posterior (links that are probable in both directions: the most accurate on average; hmm only).
      --tokenized  The text is tokenized: split it at whitespace only.

    output:
      -o, --output FILE  File of links (Pharaoh format). (default: stdout)
    """
    from features.core.bundle import Bundle
    from features.resources.aligner import SYMMETRIZATIONS, Aligner, align_lines
    from features.storage.files import atomic_file
    from features.text import eflomal
    from features.text.corpus import read_pairs
    from features.text.tokenizer import Tokenizer
    from qe.resources.corpora import corpus_of

    method: Any = known_name("symmetrisation", symmetrize, SYMMETRIZATIONS, location="--symmetrize")
    known_name("aligner", aligner, ("hmm", "eflomal"), location="--aligner")
    if with_corpus and aligner != "eflomal":
        raise InputError("--with-corpus is for eflomal", remedy="add --aligner eflomal")
    if resources is None and (aligner == "hmm" or with_corpus):
        subject = "--with-corpus" if with_corpus else "the aligner hmm"
        raise InputError(f"{subject} needs a bundle", remedy="add --resources DIR")
    if resources is None and not tokenized:
        raise InputError("the tokenization is not given", remedy="add --tokenized, or --resources DIR")
    pairs = read_pairs(source, target)
    bundle = None if resources is None else Bundle(resources)
    tokenizers = (Tokenizer(kind="whitespace", normalise=False),) * 2
    if bundle is not None and not tokenized:
        tokenizers = bundle.tokenizers
    if aligner == "eflomal":
        corpus = corpus_of(bundle) if bundle is not None and with_corpus else None
        lines = eflomal.align_lines(pairs, tokenizers, method, corpus=corpus, progress=progress)
    else:
        hmm = cast(Aligner, cast(Bundle, bundle).part("aligner"))
        lines = align_lines(hmm, pairs, tokenizers, method, progress=progress)
    ended = (line + "\n" for line in lines)
    if output is None:
        sys.stdout.writelines(ended)
        return
    with atomic_file(output) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(ended)


data = Application()


@data.command()
def check(
    path: Path,
    format_: str | None = None,
    overrides: list[str] | None = None,
    data_root: Path | None = None,
) -> Result:
    """Validate and describe a dataset: labels, annotators, lengths, duplicates, overlaps, and all defects.

    Exit code 0: sound; 1: readable, but with defects; 2: unreadable.

    Examples:

        qe data check wmt12-qe

        qe data check mlqe-pe --set pair=en-de --set label=hter

        qe data check scores.tsv --set source_language=en --set target_language=de
        --set label.name=da --set label.higher_is_better=true --set columns.scores=z_mean

    arguments:
      path  A dataset, or an experiment file: its dataset is checked.

    options:
      --format NAME  Format of the dataset (`qe data formats`). (default: detected)
      --set KEY=VALUE  Setting of the format, such as label=hter or columns.scores=z_mean. Repeatable.
    """
    from qe.config.experiment import load
    from qe.data import check as checks

    options = checks.parse_settings(overrides or [])
    if path.suffix in (".yaml", ".yml"):
        section = load(path, data_root=data_root).dataset
        path, format_, options = section.path, section.format, {**section.options(), **options}
    report = checks.check(path, format_, options)
    for error in report.unreadable:
        print(f"qe data check: {error}", file=sys.stderr)
    code = 2 if report.unreadable else 1 if report.defects else 0
    return Result("data-check", report.as_json(), _parts(report), code=code)


@data.command()
def formats(names: list[str] | None = None) -> None:
    """Explain the formats of datasets: their keys, and an example of each (Markdown).

    Example:

        qe data formats table

    arguments:
      names  Formats. (default: all)
    """
    from qe.data.format import FORMATS, page

    print(page(names or FORMATS.names), end="")


@data.command()
def fetch(
    name: str,
    progress: Progress,
    pair: list[str] | None = None,
    output: Path | None = None,
    base_url: str | None = None,
    quiet: bool = False,
) -> None:
    """Download a public dataset; checksums are verified, and an interrupted download continues.

    Checksums that the publishers do not give (all but wmt12-qe and the pairs en-de and ro-en of mlqe-pe) are
    recorded at the first download, in origin.json, together with the terms, which the model cards repeat.

    Training and development data: mlqe-pe (also WMT 2020 and 2021: direct assessments, post-edits), wmt19-qe
    and wmt20-qe (HTER, post-edits, word tags), wmt21-qe (catastrophic errors), wmt22-qe (dev only), wmt23-qe
    (direct assessments), wmt-mqm (marked errors). Test sets: mlqe-pe-test21, wmt24-qe. The data of 2018 have
    no public address: wmt18-qe explains where to get them.

    Examples:

        qe data fetch mlqe-pe --output data/mlqe-pe

        qe data fetch mlqe-pe --pair et-en --pair ne-en --output data/mlqe-pe

        qe data fetch wmt-mqm --pair en-de --output data/wmt-mqm

    arguments:
      name  wmt12-qe, mlqe-pe, mlqe-pe-test21, wmt19-qe to wmt24-qe, or wmt-mqm.

    options:
      --pair PAIR  Language pair, such as et-en. Repeatable. (default: those of most papers)
      --base-url URL  A mirror instead of GitHub's raw files.

    output:
      -o, --output DIR  Folder of the dataset. (default: its name)
    """
    from qe.data import public

    folder = output or Path(name)
    written, existing = public.fetch(
        name, folder, pairs=pair or (), base_url=base_url or public.BASE_URL, progress=progress
    )
    if not quiet:
        dataset = public.dataset(name, pair or ())
        known = all(download.files for download in dataset.downloads)
        checked = "all checksums verified" if known else f"checksums recorded in {folder / public.ORIGIN}"
        print(f"{folder}: {len(written)} files fetched, {len(existing)} were there; {checked}")
        print(f"terms: {dataset.terms}")
        layout = f"format {dataset.format}" if dataset.format else "its layout is not documented: look first"
        print(f"next: qe data check {folder} ({layout})")


@data.command()
def translate(
    input_: Path, output: Path, source_language: str, target_language: str, progress: Progress,
    engine: str = "apertium", quiet: bool = False,
) -> None:  # fmt: skip
    """Translate a file with an MT engine, for pseudo-references and back-translations.

    Example:

        qe data translate --engine apertium --source-language en --target-language es
        --input source.eng --output pseudo_reference.spa

    options:
      -i, --input FILE  One segment per line, plain or gzip.
      --source-language CODE  Language code of the input, such as en.
      --target-language CODE  Language code of the output, such as es.
      --engine NAME  The MT engine: apertium.

    output:
      -o, --output FILE  Translations, one line per line of the input.
    """
    from qe.language.engine import engine as engine_of
    from qe.language.engine import translate_file

    lines = translate_file(input_, output, engine_of(engine, source_language, target_language), progress)
    if not quiet:
        print(f"{output}: {lines} lines by {engine}")


@data.command()
def force(
    input_: Path, output: Path, model: Path, progress: Progress, source_pieces: Path | None = None,
    target_pieces: Path | None = None, source_prefix: str = "", target_prefix: str = "", quiet: bool = False,
) -> None:  # fmt: skip
    """Add log-probabilities of the translations by your own model: forced decoding by CTranslate2.

    The family `decoder` reads the new columns, `subwords` and `token_log_probabilities`.

    Example:

        qe data force --model opus-mt-en-de --input new.tsv --output with-log-probabilities.tsv

    options:
      -i, --input TABLE  Table with a source and a translation in each row.
      -m, --model FOLDER  The model in CTranslate2's format.
      --source-pieces FILE  SentencePiece model. (default: source.spm of the folder, or split at blanks)
      --target-pieces FILE  The same for translations.
      --source-prefix TOKENS  Tokens before each source, such as a language's code.
      --target-prefix TOKENS  Tokens before each translation.

    output:
      -o, --output FILE  Table: .tsv, .csv, .jsonl or .parquet.
    """
    import pandas as pd

    from qe.data.reading import Reading, read_table, texts_of
    from qe.data.writing import check_output, save_table
    from qe.language.user_models import ForcedDecoder

    check_output(output)
    reading = Reading(Path())
    source, target = (texts_of(reading, input_, side).texts for side in ("source", "target"))
    pieces = {"source": source_pieces, "target": target_pieces}
    decoder = ForcedDecoder(
        model,
        {side: path for side, path in pieces.items() if path is not None},
        {"source": source_prefix.split(), "target": target_prefix.split()},
    )
    decoded = list(decoder.decode(source, target, progress))
    table = pd.DataFrame({name: column.texts for name, column in read_table(reading, input_).items()})
    table[["subwords", "token_log_probabilities"]] = decoded
    save_table(table, output)
    if not quiet:
        print(f"{output}: {len(decoded)} rows by {model}")


def _parts(report: "DataReport") -> "Iterator[Table | str]":
    from qe.data.check import counts_text, data_tables, scale_text

    yield f"{report.name} (format {report.format}), label {scale_text(report.label)}"
    yield from data_tables(report)
    yield from (f"overlap: {pair}: {counts_text(shared)}" for pair, shared in report.overlaps.items())
    yield from (f"note: {note}" for note in report.notes)
    yield from (Verbatim(f"defect: {defect}") for defect in report.defects)  # they name files and lines
    if report.unreadable:
        yield f"{len(report.unreadable)} files or splits could not be read"
    yield f"{len(report.defects)} defects" if report.defects else "no defects"
