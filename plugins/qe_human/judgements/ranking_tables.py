"""A ranking report as tables, text and JSON, and in a folder."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qe.display import files
from qe.display.files import plain_fields
from qe.display.numbers import UNDEFINED, NumberText, count, estimate, interval, number, percent
from qe.display.table import Column, Table
from qe_human.judgements.certainty import Kappa, stars, stars_legend
from qe_human.judgements.collection import Violation
from qe_human.judgements.ranking_report import RankingReport


def all_tables(report: RankingReport) -> list[Table]:
    tables = [
        methods_table(report),
        sign_test_table(report),
        head_to_head_table(report),
        correlation_table(report),
    ]
    tables += violation_tables(report)
    tables.append(circle_table(report))
    if report.agreement is not None:
        tables.append(agreement_table(report.name, report.agreement))
    return tables


def method_title(name: str) -> str:
    """A method's name for people.

    >>> method_title("feedback_arc_set")
    'feedback arc set'
    """
    return name.replace("_", " ")


def methods_table(report: RankingReport) -> Table:
    """The orders of all methods side by side (Table 5 of the findings), then their costs."""
    longest = max(len(result.order) for result in report.methods.values())
    columns = []
    for result in report.methods.values():
        cells = []
        for i, name in enumerate(result.order):
            parts: list[str] = [] if result.scores is None else [number(result.scores[i])]
            if result.ranges is not None:
                parts.append(f"({range_text(result.ranges[name])})")
            cells.append(" ".join([*parts, name]))
        columns.append(cells + [""] * (longest - len(cells)))
    ranks = [str(i + 1) for i in range(longest)]
    rows = list(zip(ranks, *columns, strict=True))
    rows.append(("violated", *(str(result.cost_in_judgements) for result in report.methods.values())))
    rows.append(("unique", *("yes" if result.unique else "no" for result in report.methods.values())))
    title = f"{report.name}: score, rank range and system by each method"
    return Table(
        title, [Column("rank"), *(Column(method_title(name), name) for name in report.methods)], rows
    )


def sign_test_table(report: RankingReport) -> Table:
    """Results of each system's sign tests and their number, with the marks of the findings, Table 4."""
    counts = report.counts
    order = [name for name in report.methods[leading(report)].order if name in counts.systems]
    decided = dict(zip(counts.systems, counts.decided.tolist(), strict=True))
    rows = [
        (marks(report, name), name, range_text(report.tested[name]), count(decided[name])) for name in order
    ]
    columns = [Column("", "winner"), Column("system"), Column("by tests"), Column("decided comparisons")]
    title = f"{report.name}: ranks that the sign tests leave open"
    return Table(title, columns, rows, mark_legends(report))


def marks(report: RankingReport, system: str) -> str:
    """Dot for a system that is not beaten; star for one that no constrained system beats."""
    return "•" * (system in report.winners) + "⋆" * (system in report.constrained_winners)


def mark_legends(report: RankingReport) -> list[str]:
    lines = []
    if report.winners:
        lines.append(f"•  no system is significantly better (sign test, {decisive_level(report)})")
    if report.constrained_winners:
        lines.append("⋆  no other constrained system is significantly better")
    return lines


def decisive_level(report: RankingReport) -> str:
    recipe = report.recipe
    corrected = f" corrected ({recipe['correct']})" if recipe["correct"] else ""
    return f"p <= {recipe['level']:g}{corrected}"


def head_to_head_table(report: RankingReport) -> Table:
    """Share of all judgements of two systems in which the column's was better; stars are the sign test's."""
    counts = report.counts
    order = [
        counts.systems.index(name) for name in report.methods[leading(report)].order if name in counts.systems
    ]
    rows = [[counts.systems[row], *(_share(report, row, column) for column in order)] for row in order]
    title = (
        f"{report.name}: share of judgements in which the column's system is better than the row's, ties in "
        "the denominator"
    )
    return Table(title, [Column(""), *(Column(counts.systems[i]) for i in order)], rows)


def _share(report: RankingReport, row: int, column: int) -> str:
    counts = report.counts
    if row == column:
        return "–"
    judged = counts.judged[row, column]
    if not judged:
        return UNDEFINED
    share = float(counts.wins[column, row] / judged)
    better = counts.wins[column, row] > counts.wins[row, column]
    mark = stars(report.decisive[row, column]) if better else ""
    return NumberText(number(share, 2) + mark, value=share, legend=stars_legend(mark))


def correlation_table(report: RankingReport) -> Table:
    known = report.correlations
    both = np.triu(known.spearman, 1) + np.tril(known.kendall, -1)
    rows = tuple(
        (method_title(name), *("1" if i == j else number(both[i, j]) for j in range(len(both))))
        for i, name in enumerate(known.methods)
    )
    title = f"{report.name}: rank correlation between methods, Spearman above the diagonal, Kendall below"
    return Table(title, [Column(""), *(Column(method_title(name), name) for name in known.methods)], rows)


def violation_tables(report: RankingReport) -> list[Table]:
    """The preferences that each order violates, as in Lopez 2012, Table 3; equal lists share a table."""
    methods: dict[tuple[Violation, ...], list[str]] = {}
    for name, result in report.methods.items():
        methods.setdefault(result.violations, []).append(name)
    return [
        Table(
            f"{report.name}: preferences violated by {', '.join(map(method_title, names))}, "
            f"{sum(v.margin for v in violated)} judgements in all",
            [Column("preferred"), Column("ranked above it"), Column("wins - losses")],
            [(v.preferred, v.ranked_above, count(v.margin)) for v in violated],
        )
        for violated, names in methods.items()
    ]


def circle_table(report: RankingReport) -> Table:
    rows = tuple(
        (" > ".join([*circle.systems, circle.systems[0]]), ", ".join(map(str, circle.margins)))
        for circle in report.circles
    )
    return Table(f"{report.name}: intransitive circles", [Column("circle"), Column("wins - losses")], rows)


def agreement_table(name: str, agreement: Mapping[str, Kappa]) -> Table:
    """Kappa between and within judges, as in Table 3 of the findings."""
    rows = []
    for judges, kappa in agreement.items():
        numbers = map(number, (kappa.observed, kappa.chance, kappa.kappa))
        rows.append((judges, count(kappa.pairs), *numbers, interval(kappa.ci)))
    columns = [Column("judges"), Column("pairs"), Column("P(A)"), Column("P(E)"), Column("kappa")]
    columns.append(Column("95 % interval", "interval"))
    return Table(f"{name}: agreement of judges", columns, rows)


def leading(report: RankingReport) -> str:
    """The method whose order decides the order of rows: the first with rank ranges, otherwise the first."""
    ranged = [name for name, result in report.methods.items() if result.ranges is not None]
    return next(iter((*ranged, *report.methods)))


def range_text(bounds: tuple[int, int]) -> str:
    low, high = bounds
    return str(low) if low == high else f"{low}-{high}"


def ranking_table(report: RankingReport) -> Table:
    """The order of the leading method, best first, with the ranks by other methods; the last row: costs."""
    name = leading(report)
    result, methods = report.methods[name], [other for other in report.methods if other != name]
    columns = [Column("", "winner"), Column("rank"), Column(f"system, by {method_title(name)}", "system")]
    columns += [Column("score")] if result.scores else []
    columns += [Column("range")] if result.ranges else []
    columns += [Column("by tests", drop=len(methods) + 1)]
    columns += [
        Column(method_title(other), other, drop=place) for place, other in enumerate(methods, start=1)
    ]
    costs = [count(report.methods[other].cost_in_judgements) for other in (name, *methods)]
    figures = bool(result.scores) + bool(result.ranges)
    label = "violated preferences" if figures else f"violated preferences: {costs[0]}"
    last = ["", "", label, *[costs[0], ""][:figures], "", *costs[1:]]
    counts = report.counts
    appearances = "".join(
        f", {count(number_of)} {unit if number_of != 1 else unit.removesuffix('s')}"
        for unit, number_of in report.appearances.items()
    )
    title = (
        f"{report.name}: {len(counts.systems)} systems{appearances}, "
        f"{count(counts.total)} pairwise judgements "
        f"({percent(int(counts.ties.sum()) // 2 / counts.total)} ties)"
    )
    rows = [*_rows(report, name, methods), (), last]
    return Table(title, columns, rows, _footnotes(report, name))


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
        for word, kappa in report.agreement.items():
            if kappa.pairs:
                lines.append(
                    f"kappa {word} judges {estimate(kappa.kappa, kappa.ci)} "
                    f"from {kappa.pairs:,} pairs of judgements"
                )
    return [*lines, *report.notes]


def rankings_json(report: RankingReport) -> dict[str, Any]:
    """Method -> its ranking (pairs of system and score or null, best first), violations, further results."""
    rankings = {}
    for name, result in report.methods.items():
        scores = (np.nan,) * len(result.order) if result.scores is None else result.scores
        values: dict[str, Any] = {
            "ranking": list(zip(result.order, scores, strict=True)),
            "violations": float(result.cost_in_judgements),
            "unique": result.unique,
        }
        if result.cost is not None:
            values["cost"] = result.cost
        if result.ranges is not None and result.clusters is not None:
            values |= {"ranges": result.ranges, "clusters": result.clusters}
        rankings[name] = values
    return plain_fields(rankings)


def report_json(report: RankingReport) -> dict[str, Any]:
    counts, power = report.counts, report.power
    return plain_fields({
        "pair": report.name,
        "systems": counts.systems,
        "judgements": counts.total,
        "ties": int(counts.ties.sum()) // 2,
        **report.appearances,
        "methods": rankings_json(report),
        "comparisons_per_system": counts.decided,
        "winners": report.winners,
        "constrained_winners": report.constrained_winners,
        "tested_ranks": report.tested,
        "sign_tests": _sign_tests(report),
        "agreement": report.agreement,
        "circles": report.circles,
        "knots": report.knots,
        "correlations": report.correlations,
        "power": power and {
            "judgements_per_pair": power.judgements,
            "significant": {
                f"{level:g}": row
                for level, row in zip(power.levels, power.shares.mean(axis=-1), strict=True)
            },
        },
        "recipe": report.recipe,
        "notes": report.notes,
    })  # fmt: skip


def figures(report: RankingReport) -> dict[str, float]:
    """All scores, costs and kappas by a dotted name, for tracking; NaN if undefined."""
    told = {}
    for name, result in report.methods.items():
        told[f"{report.name}.{name}.violations"] = float(result.cost_in_judgements)
        for system, score in zip(result.order, result.scores or (), strict=False):
            told[f"{report.name}.{name}.{system}"] = score
    if report.agreement is not None:
        for judges, kappa in report.agreement.items():
            told[f"{report.name}.kappa.{judges}"] = kappa.kappa
    return told


def _sign_tests(report: RankingReport) -> list[dict[str, Any]]:
    counts = report.counts
    return [
        {
            "systems": [counts.systems[a], counts.systems[b]],
            "wins": int(counts.wins[a, b]),
            "ties": int(counts.ties[a, b]),
            "losses": int(counts.wins[b, a]),
            "p": report.p_values[a, b],
            "p_corrected": report.corrected[a, b],
        }
        for a in range(len(counts.systems))
        for b in range(a + 1, len(counts.systems))
    ]


def markdown(report: RankingReport) -> str:
    return files.markdown(report.name, report.notes, all_tables(report))


def latex(report: RankingReport) -> str:
    """All tables of a report that have rows, for the package booktabs."""
    return files.latex(all_tables(report))
