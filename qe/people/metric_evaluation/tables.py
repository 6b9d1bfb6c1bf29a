"""Tables of a report on metrics, in Markdown and LaTeX."""

import numpy as np

from qe.people.judgements.tables import Table
from qe.people.metric_evaluation.comparison import CorrelationResult
from qe.people.metric_evaluation.report import MetaReport


def all_tables(report: MetaReport) -> list[Table]:
    """The overview, and for each correlation the metrics in order and the tests of their pairs."""
    tables = [overview(report)]
    for result in report.results.values():
        tables.append(metrics_table(report, result))
        if result.tests:
            tables.append(tests_table(report, result))
    return tables


def overview(report: MetaReport) -> Table:
    """Metrics by correlations; in brackets the rank of the cluster."""
    cells = {
        (name, metric.name): _ranked(metric.score, result.cluster_of(metric.name))
        for name, result in report.results.items()
        for metric in result.metrics
    }
    order = [metric.name for metric in next(iter(report.results.values())).metrics]
    order += [name for name in report.metrics if name not in order]
    rows = tuple((name, *(cells.get((key, name), "-") for key in report.results)) for name in order)
    title = f"{report.name}: correlation with people (in brackets: rank of the cluster)"
    return Table(title, ("metric", *report.results), rows)


def metrics_table(report: MetaReport, result: CorrelationResult) -> Table:
    """The metrics by one correlation, best first."""
    details = sorted({key for metric in result.metrics for key in metric.details})
    rows = tuple(
        (
            metric.name,
            "-" if result.cluster_of(metric.name) is None else str(result.cluster_of(metric.name)),
            _number(metric.score),
            _interval(metric.ci),
            ", ".join(result.worse_than(metric.name, report.settings.level)) or "-",
            *(f"{metric.details[key]:.6g}" if key in metric.details else "-" for key in details),
        )
        for metric in result.metrics
    )
    confidence = f"{100 * report.settings.confidence:g} % interval"
    header = ("metric", "cluster", "correlation", confidence, "better than", *details)
    unit = "systems" if result.level == "system" else "groups"
    groups = f", {result.groups:,} {unit}" if result.groups > 1 else ""
    claim = f"; claim: {result.claim}" if result.claim else ""
    title = f"{report.name}: {result.name} ({result.values:,} scores per metric{groups}{claim})"
    return Table(title, header, rows)


def tests_table(report: MetaReport, result: CorrelationResult) -> Table:
    """Tests of all pairs."""
    rows = tuple(
        (
            a,
            b,
            f"{one.result.difference:+.4f}",
            _p(one.result.p),
            _p(one.p_corrected),
            _p(result.williams[a, b].p) if (a, b) in result.williams else "-",
        )
        for (a, b, _), one in result.tests.items()
    )
    correct = report.settings.correct
    header = ("metric", "against", "difference", "p", f"p ({correct})", "p (Williams)")
    return Table(f"{report.name}: {result.name}, differences of metrics", header, rows, texts=2)


def _ranked(score: float, cluster: int | None) -> str:
    return _number(score) + (f" ({cluster})" if cluster is not None else "")


def _number(score: float) -> str:
    return "-" if np.isnan(score) else f"{score:.4f}"


def _interval(bounds: tuple[float, float]) -> str:
    return "-" if np.isnan(bounds).any() else f"{bounds[0]:.4f} .. {bounds[1]:.4f}"


def _p(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"
