"""Tables of a report on metrics."""

from qe.display.numbers import NumberText, count, general, interval, number, p_value, signed
from qe.display.table import Column, Table
from qe_human.correlation import DIGITS, title_of
from qe_human.metric_evaluation.comparison import CorrelationResult
from qe_human.metric_evaluation.report import MetaReport


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
    rows = [(name, *(cells.get((key, name), number(None)) for key in report.results)) for name in order]
    titles = [Column(title_of(name), name, drop=i) for i, name in enumerate(report.results)]
    columns = [Column("metric"), *titles]
    return Table(f"{report.name}: correlation with people (in brackets: rank of the cluster)", columns, rows)


def metrics_table(report: MetaReport, result: CorrelationResult) -> Table:
    """The metrics by one correlation, best first."""
    details = sorted({key for metric in result.metrics for key in metric.details})
    confidence = f"{100 * report.settings.confidence:g} % interval"
    columns = [
        Column("metric"), Column("cluster"), Column("correlation"), Column(confidence, "interval"),
        Column("better than", drop=1), *(Column(name, drop=2) for name in details),
    ]  # fmt: skip
    rows = [
        (
            metric.name,
            count(result.cluster_of(metric.name)),
            number(metric.score, DIGITS),
            interval(metric.ci, DIGITS),
            ", ".join(result.worse_than(metric.name, report.settings.level)) or "none",
            *(general(metric.details.get(key), 6) for key in details),
        )
        for metric in result.metrics
    ]
    unit = "systems" if result.level == "system" else "groups"
    groups = f", {count(result.groups)} {unit}" if result.groups > 1 else ""
    more = "".join(f"; {text}" for text in (result.base, result.claim and f"claim: {result.claim}") if text)
    title = f"{report.name}: {title_of(result.name)} ({count(result.values)} scores per metric{groups}{more})"
    return Table(title, columns, rows)


def tests_table(report: MetaReport, result: CorrelationResult) -> Table:
    """Tests of all pairs."""
    level = report.settings.level
    rows = [
        (
            a,
            b,
            signed(one.result.difference, DIGITS),
            p_value(one.result.p, None, one.result.undecided),
            p_value(one.p_corrected, level, one.result.undecided),
            p_value(result.williams[a, b].p, None) if (a, b) in result.williams else "",
        )
        for (a, b, _), one in result.tests.items()
    ]
    columns = [
        Column("metric"), Column("against"), Column("difference"), Column("p", drop=2),
        Column(f"p ({report.settings.correct})", "p corrected"), Column("p (Williams)", drop=1),
    ]  # fmt: skip
    return Table(f"{report.name}: {title_of(result.name)}, differences of metrics", columns, rows)


def _ranked(score: float, cluster: int | None) -> NumberText:
    shown = number(score, DIGITS)
    return shown if cluster is None else NumberText(shown, f"({cluster})", value=shown.value)
