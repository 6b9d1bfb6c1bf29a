"""Report -> tables like Tables 12 and 13 of the WMT12 findings: winners marked, grouped around a baseline."""

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from qe.evaluation.evaluate import Report, best_first
from qe.evaluation.pairs import Comparison
from qe.statistics.equivalence import cluster_words
from qe.statistics.metric import METRICS
from qe.statistics.result import LEVEL

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

    • marks winners: systems of the first cluster, if there is more than one. With one baseline, systems
    that beat it, do not differ from it, and lose to it stand in three sections.
    """
    known = next(iter(report.systems.values())).metrics
    families = ([m for m in family if m in known] for family in (RANKING, SCORING))
    tables = [_table(report, metrics) for metrics in families if metrics]
    pairs = {(comparison.system, comparison.baseline) for comparison in report.comparisons}
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
    shown = [
        m
        for m in (RANKING[0], SCORING[0])
        if any(comparison.metric == m for comparison in report.comparisons)
    ]
    for metric in shown:
        for header in (TITLES[metric], "95 % interval", "p"):
            table.add_column(header, justify="right", no_wrap=True)
    for system, baseline in dict.fromkeys(
        (comparison.system, comparison.baseline) for comparison in report.comparisons
    ):
        cells = [system, baseline]
        for metric in shown:
            comparison = report.comparison(system, baseline, metric)
            interval = "..".join(_number(bound) for bound in comparison.ci)
            cells += [_number(comparison.result.difference), interval, p_cell(comparison)]
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
    comparison = report.comparison(name, baseline, metric)
    if not comparison.p_corrected <= LEVEL:
        return 0
    return 1 if (comparison.result.difference > 0) == higher_is_better else -1


def _cells(report: Report, name: str, metrics: Sequence[str], baseline: str | None) -> list[str]:
    scores = report.systems[name]
    primary, *others = metrics
    cells = [WINNER if name in winners(report, primary) else "", name, _number(scores.metrics[primary])]
    if _intervals(report):
        cells.append("..".join(_number(bound) for bound in scores.ci[primary]))
    cells += [_number(scores.metrics[metric], 1 if "error" in metric else 3) for metric in others]
    if primary == SCORING[0]:
        cells.append("..".join(_number(bound, 2) for bound in scores.interval))
    if baseline:
        cells.append("" if name == baseline else p_cell(report.comparison(name, baseline, primary)))
    return cells


def p_cell(comparison: Comparison) -> str:
    """The corrected p-value; `?` where the test cannot decide, `-` where the difference is undefined."""
    return "?" if comparison.result.undecided else _number(comparison.p_corrected, 4)


def winners(report: Report, metric: str) -> list[str]:
    """The systems of the first cluster, if there is more than one cluster."""
    groups = report.clusters.get(metric, [])
    return groups[0] if len(groups) > 1 else []


def _number(value: float, digits: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def notes(report: Report) -> list[str]:
    """What a reader must know of the tables: test, correction, and the error that uncorrected p carry."""
    lines = [f"{next(iter(report.systems.values())).n} segments"]
    if len(report.baselines) == 1 and report.comparisons:
        lines.append(f"p: against {report.baselines[0]}, on the metric that sorts the table")
    if report.comparisons:
        lines += _test_notes(report)
    for metric, groups in report.clusters.items():
        if metric in (RANKING[0], SCORING[0]) and len(report.systems) > 1:
            words = [", ".join(group) + cluster_words(group, report.equivalences, metric) for group in groups]
            lines.append(f"{TITLES[metric]} clusters: " + " > ".join(words))
    for metric, ranks in report.ranks.items():
        if metric in (RANKING[0], SCORING[0]):
            order = best_first(report.systems, metric, METRICS.get(metric).higher_is_better)
            told = ", ".join(f"{name} {ranks[name]}" for name in order)
            lines.append(f"{TITLES[metric]} ranks, simultaneous (bootstrap): {told}")
    lines += _equivalence_notes(report)
    pairs = len({(comparison.system, comparison.baseline) for comparison in report.comparisons})
    if pairs > PAIRS_LIMIT:
        lines.append(f"differences of {pairs} pairs: in the JSON report (--json, --output)")
    if any(comparison.result.undecided for comparison in report.comparisons):
        lines.append("?: cannot be decided")
    return lines + [f"note: {note}" for note in report.notes]


def _equivalence_notes(report: Report) -> list[str]:
    """Verdicts by metric; or that no difference found is no equality, where a cluster has several systems."""
    shared = any(len(group) > 1 for groups in report.clusters.values() for group in groups)
    if shared and not report.equivalences:
        return [
            "systems of one cluster: no difference was found, which is not equality (--margin tests that)"
        ]
    lines = []
    for metric in dict.fromkeys(pair.metric for pair in report.equivalences):
        pairs = [pair for pair in report.equivalences if pair.metric == metric]
        told: dict[str, list[str]] = {}
        for pair in pairs:
            name = f"{pair.system} : {pair.baseline} (p {_number(pair.p_corrected, 4)})"
            told.setdefault(pair.verdict, []).append(name)
        words = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in told.items())
        lines.append(f"{TITLES.get(metric, metric)} within {pairs[0].margin:g}, {pairs[0].test}: {words}")
    return lines


def _test_notes(report: Report) -> list[str]:
    recipe, family = report.recipe, report.recipe["family"]
    units = " and ".join(f"{size:,} {name}s" for name, size in recipe["units"].items())
    draws = {comparison.result.samples for comparison in report.comparisons if not comparison.result.exact}
    exact = any(comparison.result.exact for comparison in report.comparisons)
    samples = f"{recipe['samples']:,} samples" if draws else "all exchanges counted"
    if draws and min(draws) < recipe["samples"]:
        samples = f"up to {samples} (fewer where p is large)"
    error = max(
        (
            comparison.result.error
            for comparison in report.comparisons
            if comparison.result.error == comparison.result.error
        ),
        default=0,
    )
    size = max(family["comparisons"].values(), default=0)
    read = {"metric": "of one metric", "table": "of all metrics", "all": "of the whole table"}[
        family["scope"]
    ]
    lines = [
        f"{recipe['test']} of {units}, {samples}{' or all' * (exact and bool(draws))}, seed {recipe['seed']};"
        " 95 % intervals: jackknife",
        f"p corrected ({recipe['correction']}) over the {size} comparison{'s' * (size != 1)} {read}."
        f" Uncorrected, the chance of at least one false finding at {LEVEL} would be"
        f" {recipe['experimentwise_error_uncorrected']:.2f}.",
    ]
    return lines + ([f"Monte-Carlo standard error of p: up to {error:.4f}"] if error else [])
