"""`qe compare`: compare MT systems: BLEU, chrF, TER, with significance tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from features.basics.assignments import assigned
from features.basics.errors import InputError
from qe.cli._buckets import BucketOptions
from qe.cli._common import group_files, groups, held, print_json
from qe.cli._options import (
    MOST_SAMPLES,
    TESTS,
    Bands,
    Bucket,
    Corpus,
    Correct,
    Family,
    Group,
    Json,
    Latex,
    Margin,
    Quiet,
    Track,
    input_option,
    output_option,
    seed_option,
    test_option,
)
from qe.cli._progress import progress_bar
from qe.cli._runs import check_options, compare_runs

if TYPE_CHECKING:
    from qe.systems.results import SystemsComparison
    from qe.systems.system import System
    from qe.systems.text_metric import TextMetric
    from qe.systems.texts import Texts


def compare(
    ctx: typer.Context,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN RUN...]", help="Instead of systems: folders of `qe train`, against the first."
        ),
    ] = None,
    system: Annotated[
        list[str] | None, input_option(metavar="NAME=RUN[,RUN]...", help="Systems, each with its runs.")
    ] = None,
    references: Annotated[
        list[Path] | None, input_option(metavar="REF...", help="One or several references.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        input_option(
            metavar="METRIC...",
            help="{qe.systems.mt_metrics}; with options: chrf:word_order=2. (default: bleu ter length)",
        ),
    ] = None,
    scores: Annotated[
        list[str] | None,
        input_option(
            metavar="METRIC:SYSTEM=RUN[,RUN]...",
            help="Scores of another metric (a neural one), a number per segment; for each system.",
        ),
    ] = None,
    lower_is_better: Annotated[
        list[str] | None, input_option(metavar="METRIC...", help="Metrics of --scores that are errors.")
    ] = None,
    annotator: Annotated[
        str | None,
        input_option(
            metavar="NAME",
            help="Adds dependency_f: F of dependencies by a parser (qe annotate train; spacy:NAME).",
        ),
    ] = None,
    baseline: Annotated[str | None, test_option(help="What to test against. (default: the first)")] = None,
    dev: Annotated[
        list[str] | None,
        input_option(
            metavar="NAME=...",
            help="Its runs on a development set (files), or their scores there by the first metric "
            "(numbers; NAME:METRIC=... for another one).",
        ),
    ] = None,
    dev_references: Annotated[
        list[Path] | None, input_option(metavar="REF...", help="References of the development set.")
    ] = None,
    test: Annotated[
        str,
        test_option(
            metavar="ar|bootstrap|win-ratio|shifted|tukey|scheffe",
            help="ar: approximate randomization; tukey, scheffe: all systems at once.",
        ),
    ] = "ar",
    exchange: Annotated[
        str | None,
        test_option(
            metavar="UNIT",
            help="Unit that changes sides, which is the claim: segment (new segments; default), segment-run "
            "(these outputs only); ar: also run (new runs), any; segment+run: both must show.",
        ),
    ] = None,
    tail: Annotated[
        str, test_option(metavar="two-sided|greater|less", help="Tail of the test.")
    ] = "two-sided",
    samples: Annotated[
        int | None,
        test_option(
            max=MOST_SAMPLES,
            help="Shuffles, and virtual test sets. (default: 10,000; more for many pairs)",
        ),
    ] = None,
    seed: Annotated[int, seed_option("Seed of all random draws.", TESTS)] = 1,
    tokenize: Annotated[
        str | None,
        input_option(
            help="none (tokenized text: tokens stand between blanks), 13a, intl, char, moses, zh, ja-mecab, "
            "ko-mecab, flores101, flores200. (default: as sacreBLEU by the language; ter: between blanks)"
        ),
    ] = None,
    language: Annotated[
        str | None,
        input_option(
            help="Language of the texts; meteor takes its stems. (default: one with blanks between words)"
        ),
    ] = None,
    correct: Correct = "holm",
    family: Family = "metric",
    level: Annotated[
        float, test_option(metavar="P", help="Level of significance; stricter for small differences.")
    ] = 0.05,
    interval: Annotated[
        str,
        test_option(
            metavar="jackknife|percentile|bca", help="percentile: too narrow with few segments or groups."
        ),
    ] = "jackknife",
    group: Group = None,
    margin: Margin = None,
    ranks: Annotated[
        bool, test_option("--ranks", help="Test all pairs, and tell how good and bad each rank can be.")
    ] = False,
    single: Annotated[
        bool,
        test_option("--single-runs", help="Also: what one run each would say, and differences by runs."),
    ] = False,
    bucket: Bucket = None,
    bands: Bands = None,
    corpus: Corpus = None,
    source: Annotated[
        Path | None,
        input_option(help="Sources: shown on the page, and what --bucket length and rare look at."),
    ] = None,
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Folder for page, report, segments, changes, plot.")
    ] = None,
    json: Json = False,
    latex: Latex = False,
    csv: Annotated[bool, output_option("--csv", help="All numbers as CSV.")] = False,
    track: Track = False,
    quiet: Quiet = False,
) -> None:
    """Compare MT systems over optimizer replications: scores, instability, p-values, intervals.

    Examples:

        qe compare --references ref.en --system base=b0.en,b1.en,b2.en --system new=n0.en,n1.en,n2.en
        --metrics bleu ter chrf --margin bleu=0.5 --output comparison

        qe compare --references ref.en --system a=a.en --system b=b.en --system c=c.en --ranks
        --metrics bleu:smooth=floor ter:normalized=true --scores comet:a=a.txt --scores comet:b=b.txt
        --scores comet:c=c.txt

        qe compare --references ref.en --system base=b0.en --system new=n0.en --bucket length
        --bucket rare --bucket document=documents.txt --output comparison

        qe compare output/demo output/demo-lightgbm
    """
    if json + latex + csv > 1:
        raise InputError("only one of --json, --latex and --csv can be printed")
    form = "json" if json else "latex" if latex else "csv" if csv else ""
    if runs and system:
        raise InputError("folders of runs and --system exclude each other")
    if runs:
        check_options(ctx)
        return compare_runs(runs, samples, seed, form, output)
    if not system:
        remedy = "--references FILE --system NAME=FILE --system NAME=FILE, or two folders of `qe train`"
        raise InputError("nothing to compare", remedy=remedy)
    from qe.statistics.buckets import check_buckets
    from qe.statistics.equivalence import margins
    from qe.statistics.settings import ResamplingSettings
    from qe.systems.comparison import compare as run_comparison
    from qe.systems.metric_options import metrics_for

    settings: Any = {
        "test": test, "exchange": exchange, "samples": samples, "seed": seed, "tail": tail,
        "correct": correct, "family": family, "interval": interval, "level": level,
    }  # fmt: skip
    reference = [_texts(path) for path in references or []]
    sources = None if source is None else _texts(source)
    parts = BucketOptions(bucket or [], bands, corpus, _text(sources, reference))
    files = [*(references or []), *(dev_references or []), *group_files(group).values(), *parts.files()]
    files += [] if source is None else [source]
    for option, texts in (("--system", system), ("--dev", dev or []), ("--scores", scores or [])):
        files += [Path(run) for text in texts for run in _named(text, option)[1]]
    names = metrics or ([] if scores and not references else ["bleu", "ter", "length"])
    lines = [line for texts in reference for line in texts.lines]
    chosen: dict[str, Any] = {**metrics_for(names, tokenize, language, lines)}
    _doubt(chosen, lines)
    chosen |= _score_metrics(scores or [], lower_is_better or [], names)
    if annotator is not None:
        chosen["dependency_f"] = _dependency_f(annotator, tokenize, language, lines)
    buckets = parts.read()
    systems = _systems(system, dev or [], list(chosen), scores or [])
    check_buckets(buckets, len(systems[0].runs[0]))
    if sources is not None and len(sources) != len(systems[0].runs[0]):
        raise InputError(f"{len(systems[0].runs[0])} segments, but {len(sources)} sources", location=source)
    with held(output, "compare", files), progress_bar(quiet) as progress:
        comparison = run_comparison(
            systems, reference, chosen,
            baseline=baseline, settings=ResamplingSettings(**settings), progress=progress,
            dev_references=[_texts(path) for path in dev_references or []],
            groups=groups(group or []), margins=margins(margin or [], list(chosen)),
            ranks=ranks,
        )  # fmt: skip
        if parts.kinds:
            from qe.systems.buckets import with_buckets

            comparison = with_buckets(comparison, buckets, samples)
        if single:
            from dataclasses import replace

            from qe.systems.single_runs import single_runs

            comparison = replace(comparison, single_runs=tuple(single_runs(comparison)))
        if output is not None:
            from qe.systems.comparison_files import write

            write(comparison, output, sources, language or "")
    if track:
        _track(comparison, sources, language or "")
    _print(comparison, form)


def _doubt(metrics: Mapping[str, Any], lines: list[str]) -> None:
    from qe.systems.metric_options import tokenizations_of
    from qe.systems.usual_tokens import doubt

    taken = tokenizations_of(metrics.values())
    if said := next(filter(None, (doubt(tokenize, lines) for tokenize in taken)), ""):
        typer.echo(f"qe compare: {said}", err=True)


def _dependency_f(
    annotator: str, tokenize: str | None, language: str | None, lines: list[str]
) -> "TextMetric":
    from qe.language.programs.taggers import language_said, tagger
    from qe.resources.cache import default_cache
    from qe.systems.dependency_f import DependencyF
    from qe.systems.usual_tokens import language_of, usual_tokenization

    code = language_of(language or language_said(annotator), lines)
    by = tagger(annotator, code, "es" if code == "en" else "en", together=2000)
    tokens: Any = tokenize or usual_tokenization(code)
    return DependencyF(by, annotator, tokens, code, default_cache())


def _text(source: "Texts | None", references: "list[Texts]") -> tuple[str, tuple[str, ...]] | None:
    if source is not None:
        return "source", source.lines
    return ("reference", references[0].lines) if references else None


def _score_metrics(scores: list[str], lower: list[str], others: list[str]) -> "dict[str, TextMetric]":
    from qe.systems.segment_scores import SegmentErrors, SegmentScores

    names = dict.fromkeys(_scored(text)[0] for text in scores)
    if twice := sorted(names.keys() & set(others)):
        raise InputError(
            f"--scores names a metric of --metrics: {', '.join(twice)}", remedy="name it otherwise"
        )
    if strangers := sorted(set(lower) - names.keys()):
        raise InputError(f"--lower-is-better names no metric of --scores: {', '.join(strangers)}")
    return {name: SegmentErrors() if name in lower else SegmentScores() for name in names}


def _scored(text: str) -> tuple[str, str, list[str]]:
    form = "METRIC:SYSTEM=RUN[,RUN...]"
    name, runs = _named(text, "--scores", form)
    metric, _, system = name.partition(":")
    if not metric or not system:
        raise InputError(f"expected {form}, but got '{text}'", location="--scores")
    return metric, system, runs


def _score_files(scores: list[str], systems: list[str]) -> "dict[str, dict[str, tuple[Texts, ...]]]":
    files: dict[str, dict[str, tuple[Texts, ...]]] = {name: {} for name in systems}
    for metric, system, runs in map(_scored, scores):
        if system not in files:
            raise InputError(f"--scores names no system: {system}")
        if metric in files[system]:
            raise InputError(f"--scores names {metric}:{system} twice", remedy="give all runs at once")
        files[system][metric] = tuple(_texts(Path(run)) for run in runs)
    return files


def _systems(given: list[str], dev: list[str], metrics: list[str], scored: list[str]) -> "list[System]":
    from qe.systems.system import System

    development = dict(_named(text, "--dev") for text in dev)
    scores: dict[str, dict[str, tuple[float, ...]]] = {}
    outputs: dict[str, tuple[Texts, ...]] = {}
    for name, values in development.items():
        system, _, metric = name.partition(":")
        numbers = _numbers(values)
        if numbers is not None:
            scores.setdefault(system, {})[metric or metrics[0]] = numbers
        else:
            outputs[system] = tuple(_texts(Path(value)) for value in values)
    named = [_named(text, "--system") for text in given]
    files = _score_files(scored, [name for name, _ in named])
    systems = [
        System(
            name, tuple(_texts(Path(run)) for run in runs), outputs.get(name, ()), scores.get(name, {}),
            files[name],
        )
        for name, runs in named
    ]  # fmt: skip
    strangers = sorted((outputs.keys() | scores.keys()) - {system.name for system in systems})
    if strangers:
        raise InputError(f"--dev names no system: {', '.join(strangers)}")
    unknown = sorted({metric for by_metric in scores.values() for metric in by_metric} - set(metrics))
    if unknown:
        raise InputError(f"--dev names no metric of --metrics: {', '.join(unknown)}")
    return systems


def _named(text: str, option: str, form: str = "NAME=VALUE[,VALUE...]") -> tuple[str, list[str]]:
    name, values = assigned(text, form, option)
    if not all(values.split(",")):
        raise InputError(f"expected {form}, but got '{text}'", location=option)
    return name, values.split(",")


def _numbers(values: list[str]) -> tuple[float, ...] | None:
    try:
        return tuple(float(value) for value in values)
    except ValueError:
        return None


def _texts(path: Path) -> "Texts":
    from qe.data.sgm import lines_of
    from qe.systems.texts import Texts

    return Texts.of(list(lines_of(path)), str(path))


def _print(comparison: "SystemsComparison", form: str) -> None:
    from qe.display.terminal import show
    from qe.systems import report
    from qe.systems.one_run_each import single_runs_tables

    if form == "json":
        print_json("compare", comparison.to_json())
    elif form:
        print((report.latex_table if form == "latex" else report.csv_table)(comparison), end="")
    else:
        show(report.table(comparison))
        show(*single_runs_tables(comparison.single_runs, comparison.settings.level))
        _print_buckets(comparison)


def _print_buckets(comparison: "SystemsComparison") -> None:
    from qe.display.terminal import say, show
    from qe.evaluation.bucket_table import bucket_notes, bucket_tables
    from qe.systems.text_metric import title_of

    if comparison.buckets is not None:
        show(*bucket_tables(comparison.buckets, 2, title_of))
        say(*bucket_notes(comparison.buckets, title_of))


def _track(comparison: "SystemsComparison", source: "Texts | None", language: str) -> None:
    from qe.cli._track import track
    from qe.systems.comparison_files import write

    track(
        "compare",
        lambda folder: write(comparison, folder, source, language),
        comparison.recipe,
        comparison.figures(),
        under="comparison",
    )
