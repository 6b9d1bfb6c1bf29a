"""Report -> tables like Tables 12 and 13 of the WMT12 findings: winners marked, grouped around a baseline."""

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from qe.evaluation import LEVEL, Report, best_first
from qe.metrics._base import METRICS

RANKING = ("delta_avg", "spearman", "kendall", "pearson")
SCORING = ("mae", "rmse", "large_error", "small_error")
TITLES = {
    "delta_avg": "DeltaAvg", "spearman": "Spearman", "kendall": "Kendall", "pearson": "Pearson",
    "mae": "MAE", "rmse": "RMSE", "large_error": "Large %", "small_error": "Small %",
}  # fmt: skip
WINNER = "•"
PAIRS_LIMIT = 28  # beyond 8 systems the pairs are for `--json`


def report_tables(report: Report) -> list[Table]:
    """The ranking and the scoring table, each sorted by its first metric, and the differences of pairs.

    • marks winners: systems of the first cluster, where there is more than one. With one baseline, systems
    that beat it, do not differ from it, and lose to it stand in three sections.
    """
    known = next(iter(report.systems.values())).metrics
    families = ([m for m in family if m in known] for family in (RANKING, SCORING))
    tables = [_table(report, metrics) for metrics in families if metrics]
    pairs = {(found.system, found.baseline) for found in report.comparisons}
    return [*tables, _pairs(report)] if 0 < len(pairs) <= PAIRS_LIMIT else tables


def _table(report: Report, metrics: Sequence[str]) -> Table:
    primary, *others = metrics
    baseline = report.baselines[0] if len(report.baselines) == 1 and report.comparisons else None
    table = Table(title=f"By {TITLES[primary]}", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("System", overflow="fold", min_width=12)
    headers = [
        TITLES[primary],
        *(["95 % interval"] if _intervals(report) else []),
        *(TITLES[m] for m in others),
    ]
    if primary == SCORING[0]:
        headers.append("Predicted")
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    if baseline:
        table.add_column("p", justify="right", no_wrap=True)
    for section in _sections(report, primary, baseline):
        for name in section:
            table.add_row(*_cells(report, name, metrics, baseline))
        table.add_section()
    return table


def _pairs(report: Report) -> Table:
    """Differences with intervals and corrected p-values, pair by pair."""
    table = Table(title="Differences", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("System", overflow="fold", min_width=12)
    table.add_column("minus", overflow="fold", min_width=12)
    shown = [m for m in (RANKING[0], SCORING[0]) if any(found.metric == m for found in report.comparisons)]
    for metric in shown:
        for header in (TITLES[metric], "95 % interval", "p"):
            table.add_column(header, justify="right", no_wrap=True)
    for system, baseline in dict.fromkeys((found.system, found.baseline) for found in report.comparisons):
        cells = [system, baseline]
        for metric in shown:
            found = report.comparison(system, baseline, metric)
            interval = "..".join(_number(bound) for bound in found.ci)
            cells += [_number(found.result.difference), interval, _number(found.p_corrected, 4)]
        table.add_row(*cells)
    return table


def _intervals(report: Report) -> bool:
    return any(scores.ci for scores in report.systems.values())


def _sections(report: Report, metric: str, baseline: str | None) -> list[list[str]]:
    """Systems, best first: those above the baseline, those that do not differ from it, those below."""
    better = METRICS.get(metric).higher_is_better
    order = best_first(report.systems, metric, better)
    if baseline is None:
        return [order]
    sections: dict[int, list[str]] = {1: [], 0: [], -1: []}
    for name in order:
        sections[_standing(report, name, baseline, metric, better)].append(name)
    return [section for section in sections.values() if section]


def _standing(report: Report, name: str, baseline: str, metric: str, higher_is_better: bool) -> int:
    if name == baseline:
        return 0
    found = report.comparison(name, baseline, metric)
    if not found.p_corrected <= LEVEL:
        return 0
    return 1 if (found.result.difference > 0) == higher_is_better else -1


def _cells(report: Report, name: str, metrics: Sequence[str], baseline: str | None) -> list[str]:
    scores = report.systems[name]
    primary, *others = metrics
    cells = [WINNER if name in winners(report, primary) else "", name, _number(scores.metrics[primary])]
    if _intervals(report):
        cells.append("..".join(_number(bound) for bound in scores.ci[primary]))
    cells += [_number(scores.metrics[metric], 1 if "error" in metric else 3) for metric in others]
    if primary == SCORING[0]:
        cells.append(f"{scores.interval[0]:.2f}..{scores.interval[1]:.2f}")
    if baseline:
        cells.append("" if name == baseline else _number(_p(report, name, baseline, primary), 4))
    return cells


def _p(report: Report, name: str, baseline: str, metric: str) -> float:
    return report.comparison(name, baseline, metric).p_corrected


def winners(report: Report, metric: str) -> list[str]:
    """The systems of the first cluster, where there is more than one cluster."""
    groups = report.clusters.get(metric, [])
    return groups[0] if len(groups) > 1 else []


def _number(value: float, digits: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def notes(report: Report) -> list[str]:
    """What a reader must know of the tables: test, correction, and the error that uncorrected p carry."""
    recipe = report.recipe
    lines = [f"{next(iter(report.systems.values())).n} segments"]
    if len(report.baselines) == 1 and report.comparisons:
        lines.append(f"p: against {report.baselines[0]}, on the metric that sorts the table")
    if report.comparisons:
        lines.append(
            f"{recipe['test']}, {recipe['samples']} samples, seed {recipe['seed']}; 95 % intervals;"
            f" p corrected ({recipe['correction']}). Uncorrected, the chance of at least one false finding"
            f" at {LEVEL} would be {recipe['experimentwise_error_uncorrected']:.2f}."
        )
    for metric, groups in report.clusters.items():
        if metric in (RANKING[0], SCORING[0]) and len(report.systems) > 1:
            lines.append(f"{TITLES[metric]} clusters: " + " > ".join(", ".join(group) for group in groups))
    return lines
