"""`qe correlate`: correlate metrics with people: intervals, tests, clusters."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from features.basics.errors import InputError
from features.basics.progress import Progress
from qe.cli.shared.printing import Result
from qe_human.settings import CorrelationSettings

if TYPE_CHECKING:
    from qe.display.table import Table
    from qe_human.metric_evaluation.report import MetaReport


def correlate(
    *,
    progress: Progress,
    metrics: list[str] | None = None,
    human: Path | None = None,
    rankings: list[Path] | None = None,
    metrics_eval: Path | None = None,
    pair: list[str] | None = None,
    gold: str | None = None,
    human_column: str | None = None,
    columns: list[str] | None = None,
    lower_is_better: list[str] | None = None,
    correlations: list[str] | None = None,
    ranking_method: str = "expected_wins",
    reference: str = "_ref",
    with_references: bool = False,
    settings: CorrelationSettings,
    output: Path | None = None,
    markdown: bool = False,
    latex: bool = False,
    track: bool = False,
) -> Result:
    """Compare metrics with people: correlations, intervals, tests and clusters.

    Correlations are of segments and systems.

    Examples:

        qe correlate --human human.tsv --metrics bleu.tsv chrf.tsv --output correlations

        qe correlate --rankings wmt12.RNK_results.csv.gz --pair Czech-English --metrics scores.tsv

        qe correlate --metrics-eval mt-metrics-eval-v2/wmt22 --pair en-de --gold mqm

    input:
      --metrics [SYSTEM=]FILE...  Tables of scores: columns system, segment, and one per metric; SYSTEM=FILE
          without system.
      --human  Table of human scores: system, segment, score; may have judge.
      --rankings FILE...  Instead: human rankings, as `qe rank` reads them.
      --metrics-eval  Instead of all: a test set's folder of mt-metrics-eval.
      --pair PAIR...  Language pairs of rankings (Czech-English), mt-metrics-eval (en-de), or the column
          pair of tables; with several, averages over them.
      --gold  Human scores of mt-metrics-eval, such as mqm.
      --human-column  Column of the human scores. (default: score, or the only one)
      --columns METRIC...  Metrics to read. (default: all columns of numbers that are no identifiers)
      --lower-is-better METRIC...  Metrics that count errors. (known: those of `qe compare`)
      --reference  Name of the human reference in rankings.
      --with-references  References of mt-metrics-eval stay among the systems.

    tests:
      --correlations NAME...  {qe_human.correlations}; with settings: pearson:group=item. (default: all that
          the judgements allow)
      --ranking-method  Makes scores of systems from rankings, as in `qe rank`.

    output:
      -o, --output DIR  Folder for JSON, tables and plots.
    """
    from features.basics.assignments import configured
    from qe_human.human import CORRELATIONS
    from qe_human.metric_evaluation import reading, report
    from qe_human.metric_evaluation.report import meta_report

    if output is not None or track:
        # A missing package is told before any work.
        from qe_human.metric_evaluation.report_files import write_reports
    every = sorted(CORRELATIONS.names, key=lambda name: (CORRELATIONS.get(name).level, name))
    texts = dict.fromkeys(correlations or [*every[:1], "acc_eq:group=none", *every[1:]])
    chosen = {text: configured(CORRELATIONS, text, {"seed": settings.seed}) for text in texts}
    _check_sources(metrics, human, rankings, metrics_eval)
    reports, tables, errors = [], metrics or [], lower_is_better or []
    for one in pair or (None,):
        if metrics_eval is not None:
            evaluation = reading.from_metrics_eval(metrics_eval, one, gold, columns, errors, with_references)
        elif human is not None:
            evaluation = reading.from_tables(human, human_column, tables, columns, errors, one)
        else:
            evaluation = reading.from_rankings(
                rankings or [], one, tables, columns, errors, ranking_method, reference, settings.seed,
                progress,
            )  # fmt: skip
        reports.append(
            meta_report(evaluation, chosen, settings, optional=correlations is None, progress=progress)
        )
    return Result(
        "correlate-pairs" if len(reports) > 1 else "correlate", report.reports_json(reports),
        _parts(reports, output), recipe=reports[0].recipe, figures=lambda: _figures(reports),
        write=partial(write_reports, reports) if output is not None or track else None,
        forms={"latex": partial(report.latex, reports), "markdown": partial(report.markdown, reports)},
    )  # fmt: skip


def _figures(reports: "list[MetaReport]") -> dict[str, float]:
    if len(reports) == 1:
        return reports[0].figures()
    return {f"{one.name}.{key}": value for one in reports for key, value in one.figures().items()}


def _check_sources(
    metrics: list[str] | None, human: Path | None, rankings: list[Path] | None, metrics_eval: Path | None
) -> None:

    sources = {"--human": human, "--rankings": rankings, "--metrics-eval": metrics_eval}
    chosen = [name for name, value in sources.items() if value]
    if len(chosen) != 1:
        raise InputError(
            f"got {' and '.join(chosen) or 'no human judgements'}",
            remedy="give one of --human, --rankings and --metrics-eval",
        )
    if metrics_eval is not None and metrics:
        raise InputError("--metrics-eval brings its metrics", remedy="leave --metrics out")
    if metrics_eval is None and not metrics:
        raise InputError("no scores of metrics", remedy="give --metrics")


def _parts(reports: "list[MetaReport]", output: Path | None) -> "Iterator[Table | str]":
    from qe_human.metric_evaluation.report import average_tables, metrics_table, overview

    yield from average_tables(reports) if len(reports) > 1 else ()
    for report in reports:
        yield from [overview(report)] if len(report.results) > 1 else ()
        yield from (metrics_table(report, result) for result in report.results.values())
        yield from (f"note: {note}" for note in report.notes)
    if output is not None:
        yield f"tables and plots: {output}"
