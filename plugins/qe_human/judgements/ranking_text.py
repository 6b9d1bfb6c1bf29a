"""A ranking report for the terminal: one table, with what it rests on."""

from collections.abc import Sequence

from qe.display.numbers import count, estimate, number, percent
from qe.display.table import UNBOUNDED, Column, Table
from qe_human.judgements.ranking_report import RankingReport
from qe_human.judgements.ranking_tables import (
    decisive_level,
    leading,
    mark_legends,
    marks,
    method_title,
    range_text,
)


def text(report: RankingReport, width: int = UNBOUNDED) -> str:
    """One line per system in the order of the leading method, followed by the ranks of all other methods."""
    return ranking_table(report).text(width)


def ranking_table(report: RankingReport) -> Table:
    """The order of the leading method, best first, with the ranks by other methods. The last row holds the
    costs.
    """
    name = leading(report)
    result, methods = report.methods[name], [other for other in report.methods if other != name]
    columns = [Column("", "winner"), Column("rank"), Column(f"system, by {method_title(name)}", "system")]
    columns += [Column("score")] if result.scores else []
    columns += [Column("range")] if result.ranges else []
    columns += [Column("by tests", drop=len(methods) + 1)]
    columns += [
        Column(method_title(other), other, drop=place) for place, other in enumerate(methods, start=1)
    ]
    rows = [*_rows(report, name, methods), (), _costs(report, name, methods)]
    return Table(_summary(report), columns, rows, _footnotes(report, name))


def _rows(report: RankingReport, name: str, methods: Sequence[str]) -> list[list[str]]:
    result = report.methods[name]
    cuts = {group[-1] for group in (result.clusters or ())[:-1]}
    rows: list[list[str]] = []
    for place, system in enumerate(result.order, start=1):
        cells = [marks(report, system), count(place), system]
        cells += [number(result.scores[place - 1])] if result.scores else []
        cells += [range_text(result.ranges[system])] if result.ranges else []
        cells += [range_text(report.tested[system]) if system in report.tested else ""]
        orders = (report.methods[other].order for other in methods)
        cells += [count(order.index(system) + 1) if system in order else "" for order in orders]
        rows += [cells, []] if system in cuts else [cells]
    return rows


def _costs(report: RankingReport, name: str, methods: Sequence[str]) -> list[str]:
    result = report.methods[name]
    own, appearances = count(result.cost_in_judgements), bool(result.scores) + bool(result.ranges)
    label = "violated preferences" if appearances else f"violated preferences: {own}"
    cells = ["", "", label, *[own, ""][:appearances], ""]
    return [*cells, *(count(report.methods[other].cost_in_judgements) for other in methods)]


def _summary(report: RankingReport) -> str:
    counts = report.counts
    ties = int(counts.ties.sum()) // 2
    appearances = "".join(
        f", {count(appearances)} {what if appearances != 1 else what.removesuffix('s')}"
        for what, appearances in report.appearances.items()
    )
    return (
        f"{report.name}: {len(counts.systems)} systems{appearances}, "
        f"{count(counts.total)} pairwise judgements "
        f"({percent(ties / counts.total)} ties)"
    )


def _footnotes(report: RankingReport, leading_method: str) -> list[str]:
    recipe, lines = report.recipe, mark_legends(report)
    lines.append(f"by tests: ranks that the sign tests ({decisive_level(report)}) leave open")
    if report.methods[leading_method].ranges is not None:
        lines.append(
            f"range: {100 * recipe['confidence']:g} % of {recipe['samples']:,} bootstrap samples of "
            f"{recipe['draw']}; a gap parts clusters by {method_title(leading_method)}"
        )
    ambiguous = [name for name, result in report.methods.items() if not result.unique]
    if ambiguous:
        lines.append(f"another order is as good by {', '.join(map(method_title, ambiguous))}")
    lines.append(
        f"{count(int(report.counts.decided.min()))} to {count(int(report.counts.decided.max()))} decided "
        "comparisons per system"
    )
    knot = f", the largest knot joins {len(report.knots[0])} systems" if report.knots else ""
    lines.append(f"{len(report.circles)} intransitive circles{knot}")
    if report.agreement is not None:
        for word, kappa in vars(report.agreement).items():
            if kappa.pairs:
                lines.append(
                    f"kappa {word} judges {estimate(kappa.kappa, kappa.ci)} "
                    f"from {kappa.pairs:,} pairs of judgements"
                )
    return [*lines, *report.notes]
