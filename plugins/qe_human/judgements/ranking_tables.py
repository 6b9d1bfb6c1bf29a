"""Tables of a ranking report."""

import numpy as np

from qe.display.numbers import UNDEFINED, NumberText, count, interval, number
from qe.display.table import Column, Table
from qe_human.judgements.agreement import Kappa
from qe_human.judgements.ranking_report import MethodResult, RankingReport
from qe_human.judgements.sign_tests import stars, stars_legend
from qe_human.judgements.violations import Violation


def all_tables(report: RankingReport) -> list[Table]:
    """Every table of a report."""
    tables = [
        methods_table(report),
        sign_test_table(report),
        head_to_head_table(report),
        correlation_table(report),
    ]
    tables += violation_tables(report)
    tables.append(circle_table(report))
    if report.agreement is not None:
        tables.append(agreement_table(report))
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
    columns = [_column(result, longest) for result in report.methods.values()]
    ranks = [str(i + 1) for i in range(longest)]
    rows = list(zip(ranks, *columns, strict=True))
    rows.append(("violated", *(str(result.cost_in_judgements) for result in report.methods.values())))
    rows.append(("unique", *("yes" if result.unique else "no" for result in report.methods.values())))
    title = f"{report.name}: score, rank range and system by each method"
    return Table(
        title, [Column("rank"), *(Column(method_title(name), name) for name in report.methods)], rows
    )


def _column(result: MethodResult, length: int) -> list[str]:
    cells = []
    for i, name in enumerate(result.order):
        parts: list[str] = [] if result.scores is None else [number(result.scores[i])]
        if result.ranges is not None:
            parts.append(f"({range_text(result.ranges[name])})")
        cells.append(" ".join([*parts, name]))
    return cells + [""] * (length - len(cells))


def sign_test_table(report: RankingReport) -> Table:
    """What the sign tests say of each system, and how many comparisons they rest on. Marks are those of the
    findings, Table 4.
    """
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
    """What the marks that occur mean, one line each."""
    lines = []
    if report.winners:
        lines.append(f"•  no system is significantly better (sign test, {decisive_level(report)})")
    if report.constrained_winners:
        lines.append("⋆  no other constrained system is significantly better")
    return lines


def decisive_level(report: RankingReport) -> str:
    """The level of the sign tests that decide, and how these are corrected."""
    recipe = report.recipe
    corrected = f" corrected ({recipe['correct']})" if recipe["correct"] else ""
    return f"p <= {recipe['level']:g}{corrected}"


def head_to_head_table(report: RankingReport) -> Table:
    """Share of judgements in which the column's system was better than the row's. The share is taken of all
    judgements of the two. Stars are those of the sign test, as in the appendix of the findings; the best
    system comes first.
    """
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
    """Spearman's rho above the diagonal, Kendall's tau below."""
    known = report.correlations
    both = np.triu(known.spearman, 1) + np.tril(known.kendall, -1)
    rows = tuple(
        (method_title(name), *("1" if i == j else number(both[i, j]) for j in range(len(both))))
        for i, name in enumerate(known.methods)
    )
    title = f"{report.name}: rank correlation between methods, Spearman above the diagonal, Kendall below"
    return Table(title, [Column(""), *(Column(method_title(name), name) for name in known.methods)], rows)


def violation_tables(report: RankingReport) -> list[Table]:
    """The preferences that each order violates, as in Lopez 2012, Table 3. Orders with equal lists share a
    table.
    """
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
    """The intransitive circles, strongest first."""
    rows = tuple(
        (" > ".join([*circle.systems, circle.systems[0]]), ", ".join(map(str, circle.margins)))
        for circle in report.circles
    )
    return Table(f"{report.name}: intransitive circles", [Column("circle"), Column("wins - losses")], rows)


def agreement_table(report: RankingReport) -> Table:
    """Kappa between and within judges, as in Table 3 of the findings."""
    if report.agreement is None:
        raise ValueError(f"{report.name} has no tasks to compute agreement from")
    rows = tuple((name, *_kappa_cells(kappa)) for name, kappa in vars(report.agreement).items())
    columns = [Column("judges"), Column("pairs"), Column("P(A)"), Column("P(E)"), Column("kappa")]
    columns.append(Column("95 % interval", "interval"))
    return Table(f"{report.name}: agreement of judges", columns, rows)


def _kappa_cells(kappa: Kappa) -> list[NumberText]:
    numbers = (kappa.observed, kappa.chance, kappa.kappa)
    return [count(kappa.pairs), *map(number, numbers), interval(kappa.ci)]


def leading(report: RankingReport) -> str:
    """The method whose order decides the order of rows. It is the first with rank ranges, otherwise the
    first.
    """
    ranged = [name for name, result in report.methods.items() if result.ranges is not None]
    return next(iter((*ranged, *report.methods)))


def range_text(bounds: tuple[int, int]) -> str:
    """`3-5`, or `3` where both are the same."""
    low, high = bounds
    return str(low) if low == high else f"{low}-{high}"
