"""`qe data`: check a dataset, explain formats, fetch public data, translate."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from qe.cli.shared.application import Application
from qe.cli.shared.printing import emit
from qe.cli.shared.progress import progress_bar

if TYPE_CHECKING:
    from qe.data.check import DataReport

app = Application()


@app.callback()
def data() -> None:
    """Check, describe and fetch datasets; explain formats; add second translations and log-probabilities."""


@app.command()
def check(
    path: Path,
    format_: str | None = None,
    overrides: list[str] | None = None,
    data_root: Path | None = None,
    json: bool = False,
) -> None:
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
    if json:
        emit("data-check", report.as_json(), json)
    else:
        _show(report)
    for error in report.unreadable:
        print(f"qe data check: {error}", file=sys.stderr)
    if report.unreadable or report.defects:
        raise typer.Exit(2 if report.unreadable else 1)


@app.command()
def formats(names: list[str] | None = None) -> None:
    """Explain the formats of datasets: their keys, and an example of each (Markdown).

    Example:

        qe data formats table

    arguments:
      names  Formats. (default: all)
    """
    from qe.data.format import FORMATS, page

    print(page(names or FORMATS.names), end="")


@app.command()
def fetch(
    name: str,
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
    with progress_bar(quiet) as progress:
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


@app.command()
def translate(
    input_: Path, output: Path, source_language: str, target_language: str, engine: str = "apertium",
    quiet: bool = False,
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
    from qe.language.programs.translations import translate_file

    by = engine_of(engine, source_language, target_language)
    with progress_bar(quiet) as progress:
        lines = translate_file(input_, output, by, progress)
    if not quiet:
        print(f"{output}: {lines} lines by {engine}")


@app.command()
def force(
    input_: Path, output: Path, model: Path, source_pieces: Path | None = None,
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

    from qe.data.labels import check_output, save_table
    from qe.data.reading import Reading
    from qe.data.table_files import read_table, texts_of
    from qe.language.programs.forced import ForcedDecoder

    check_output(output)
    reading = Reading(Path())
    source, target = (texts_of(reading, input_, side).texts for side in ("source", "target"))
    pieces = {"source": source_pieces, "target": target_pieces}
    decoder = ForcedDecoder(
        model,
        {side: path for side, path in pieces.items() if path is not None},
        {"source": source_prefix.split(), "target": target_prefix.split()},
    )
    with progress_bar(quiet) as progress:
        decoded = list(decoder.decode(source, target, progress))
    table = pd.DataFrame({name: column.texts for name, column in read_table(reading, input_).items()})
    table[["subwords", "token_log_probabilities"]] = decoded
    save_table(table, output)
    if not quiet:
        print(f"{output}: {len(decoded)} rows by {model}")


def _show(report: "DataReport") -> None:
    from qe.data.report_tables import counts_text, data_tables, scale_text
    from qe.display.terminal import say, show

    say(f"{report.name} (format {report.format}), label {scale_text(report.label)}")
    show(*data_tables(report))
    say(*(f"overlap: {pair}: {counts_text(shared)}" for pair, shared in report.overlaps.items()))
    say(*(f"note: {note}" for note in report.notes))
    for defect in report.defects:  # not wrapped: they name files and lines
        print(f"defect: {defect}")
    if report.unreadable:
        say(f"{len(report.unreadable)} files or splits could not be read")
    say(f"{len(report.defects)} defects" if report.defects else "no defects")
