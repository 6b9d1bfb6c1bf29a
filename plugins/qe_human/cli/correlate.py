"""`qe correlate`: correlate metrics with people: intervals, tests, clusters."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qe.cli._common import held, print_json
from qe.cli._options import (
    MOST_SAMPLES,
    TESTS,
    Correct,
    Json,
    Latex,
    Markdown,
    Quiet,
    Track,
    input_option,
    output_option,
    seed_option,
    test_option,
)
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from features.basics.progress import Progress
    from qe_human.correlation import Correlation
    from qe_human.metric_evaluation.report import MetaReport
    from qe_human.metric_evaluation.scores import Evaluation


def correlate(
    metrics: Annotated[
        list[str] | None,
        input_option(
            metavar="FILE...",
            help="Tables of scores: columns system, segment, and one per metric; SYSTEM=FILE without system.",
        ),
    ] = None,
    human: Annotated[
        Path | None, input_option(help="Table of human scores: system, segment, score; may have judge.")
    ] = None,
    rankings: Annotated[
        list[Path] | None,
        input_option(metavar="FILE...", help="Instead: human rankings, as `qe rank` reads them."),
    ] = None,
    metrics_eval: Annotated[
        Path | None, input_option(help="Instead of all: a test set's folder of mt-metrics-eval.")
    ] = None,
    pair: Annotated[
        list[str] | None,
        input_option(
            metavar="PAIR...",
            help="Language pairs of rankings (Czech-English), mt-metrics-eval (en-de), or the column pair of "
            "tables; with several, averages over them.",
        ),
    ] = None,
    gold: Annotated[str | None, input_option(help="Human scores of mt-metrics-eval, such as mqm.")] = None,
    human_column: Annotated[
        str | None, input_option(help="Column of the human scores. (default: score, or the only one)")
    ] = None,
    columns: Annotated[
        list[str] | None,
        input_option(metavar="METRIC...", help="Metrics to read. (default: all columns of numbers)"),
    ] = None,
    lower_is_better: Annotated[
        list[str] | None, input_option(metavar="METRIC...", help="Metrics that count errors.")
    ] = None,
    correlations: Annotated[
        list[str] | None,
        test_option(
            metavar="NAME...",
            help="{qe_human.correlations}; with settings: pearson:group=item. "
            "(default: all that the judgements allow)",
        ),
    ] = None,
    ranking_method: Annotated[
        str, test_option(help="Makes scores of systems from rankings, as in `qe rank`.")
    ] = "expected_wins",
    reference: Annotated[str, input_option(help="Name of the human reference in rankings.")] = "_ref",
    with_references: Annotated[
        bool, input_option("--with-references", help="References of mt-metrics-eval stay among the systems.")
    ] = False,
    samples: Annotated[int, test_option(min=0, max=MOST_SAMPLES, help="Bootstrap samples.")] = 1000,
    permutations: Annotated[
        int | None,
        test_option(
            min=0,
            max=MOST_SAMPLES,
            help="Exchanges of each test; 0: no tests. (default: as many as the pairs of metrics need)",
        ),
    ] = None,
    resample: Annotated[str, test_option(metavar="both|segments", help="What the bootstrap draws.")] = "both",
    exchange: Annotated[
        str | None,
        test_option(
            metavar="UNIT",
            help="What changes sides in tests, which is the claim: segment (new segments), system (new "
            "systems), score (these alone: Deutsch et al. 2021), segment+system: both must show. (default: "
            "segments and systems, if there are several)",
        ),
    ] = None,
    seed: Annotated[int, seed_option("Seed of all random draws.", TESTS)] = 0,
    confidence: Annotated[float, test_option(help="Confidence of the intervals.")] = 0.95,
    correct: Correct = "holm",
    level: Annotated[float, test_option(help="Level of the tests that make clusters.")] = 0.05,
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Folder for JSON, tables and plots.")
    ] = None,
    as_json: Json = False,
    markdown: Markdown = False,
    latex: Latex = False,
    track: Track = False,
    quiet: Quiet = False,
) -> None:
    """Compare metrics with people: correlations, intervals, tests and clusters.

    Correlations are of segments and systems.

    Examples:

        qe correlate --human human.tsv --metrics bleu.tsv chrf.tsv --output correlations

        qe correlate --rankings wmt12.RNK_results.csv.gz --pair Czech-English --metrics scores.tsv

        qe correlate --metrics-eval mt-metrics-eval-v2/wmt22 --pair en-de --gold mqm
    """
    from features.basics.assignments import named_file
    from features.basics.errors import InputError
    from qe_human.metric_evaluation.comparison import Settings
    from qe_human.metric_evaluation.report import meta_report

    if as_json + markdown + latex > 1:
        raise InputError("only one of --json, --markdown and --latex can be printed")
    if output is not None or track:
        importlib.import_module(
            "qe_human.metric_evaluation.correlation_plots"
        )  # a missing package is told before any work
    settings = Settings(samples, permutations, seed, confidence, correct, level, resample, exchange)  # type: ignore[arg-type]
    chosen = _correlations(correlations, seed)
    inputs = [
        human,
        metrics_eval,
        *(rankings or []),
        *(named_file(text)[1] for text in metrics or ()),
    ]
    with held(output, "correlate", inputs), progress_bar(quiet or as_json) as progress:
        reports = []
        for one in pair or (None,):
            evaluation = _evaluation(
                metrics, human, rankings, metrics_eval, pair=one, gold=gold, human_column=human_column,
                columns=columns, lower_is_better=lower_is_better or [], method=ranking_method,
                reference=reference, with_references=with_references, seed=seed, progress=progress,
            )  # fmt: skip
            reports.append(
                meta_report(evaluation, chosen, settings, optional=correlations is None, progress=progress)
            )
        if output is not None:
            from qe_human.metric_evaluation.report_files import write_reports

            write_reports(reports, output)
    if track:
        _track(reports)
    _print(reports, "json" if as_json else "markdown" if markdown else "latex" if latex else "", output)


def _correlations(names: list[str] | None, seed: int) -> "dict[str, Correlation]":
    from features.basics.options import configured
    from qe_human.correlation import CORRELATIONS

    every = sorted(CORRELATIONS.names, key=lambda name: (CORRELATIONS.get(name).level, name))
    texts = list(dict.fromkeys(names or [*every[:1], "acc_eq:group=none", *every[1:]]))
    return {text: configured(CORRELATIONS, text, {"seed": seed}) for text in texts}


def _evaluation(
    metrics: list[str] | None,
    human: Path | None,
    rankings: list[Path] | None,
    metrics_eval: Path | None,
    *,
    pair: str | None,
    gold: str | None,
    human_column: str | None,
    columns: list[str] | None,
    lower_is_better: list[str],
    method: str,
    reference: str,
    with_references: bool,
    seed: int,
    progress: "Progress",
) -> "Evaluation":
    from features.basics.errors import InputError
    from qe_human.metric_evaluation import reading

    given = {"--human": human, "--rankings": rankings, "--metrics-eval": metrics_eval}
    asked = [name for name, value in given.items() if value]
    if len(asked) != 1:
        raise InputError(
            f"got {' and '.join(asked) or 'no human judgements'}",
            remedy="give one of --human, --rankings and --metrics-eval",
        )
    if metrics_eval is not None:
        if metrics:
            raise InputError("--metrics-eval has metrics of its own", remedy="leave --metrics out")
        return reading.from_metrics_eval(metrics_eval, pair, gold, columns, lower_is_better, with_references)
    if not metrics:
        raise InputError("no scores of metrics", remedy="give --metrics")
    if human is not None:
        return reading.from_tables(human, human_column, metrics, columns, lower_is_better, pair)
    return reading.from_rankings(
        rankings or [], pair, metrics, columns, lower_is_better, method, reference, seed, progress
    )


def _print(reports: "list[MetaReport]", form: str, output: Path | None) -> None:
    from qe_human.metric_evaluation.report_files import latex, markdown, reports_json

    if form == "json":
        print_json("correlate-pairs" if len(reports) > 1 else "correlate", reports_json(reports))
    elif form:
        print((latex if form == "latex" else markdown)(reports), end="")
    else:
        _print_tables(reports, output)


def _print_tables(reports: "list[MetaReport]", output: Path | None) -> None:
    from qe.display.terminal import say, show
    from qe_human.metric_evaluation.averages import averages, averages_table
    from qe_human.metric_evaluation.correlation_tables import metrics_table, overview

    if len(reports) > 1:
        show(*(averages_table(name, found) for name, found in averages(reports).items()))
    for report in reports:
        shown = [overview(report)] if len(report.results) > 1 else []
        show(*shown, *(metrics_table(report, result) for result in report.results.values()))
        say(*(f"note: {note}" for note in report.notes))
    if output is not None:
        say(f"tables and plots: {output}")


def _track(reports: "list[MetaReport]") -> None:
    from qe.cli._track import track
    from qe_human.metric_evaluation.report_files import write_reports

    figures = reports[0].figures()
    if len(reports) > 1:
        figures = {f"{one.name}.{key}": value for one in reports for key, value in one.figures().items()}
    track("correlate", lambda folder: write_reports(reports, folder), reports[0].recipe, figures)
