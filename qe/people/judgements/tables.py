"""Tables of a ranking report, in Markdown and LaTeX."""

import re
from dataclasses import dataclass

import numpy as np

from qe.people.judgements.agreement import Kappa
from qe.people.judgements.ranking_report import MethodResult, RankingReport
from qe.people.judgements.sign_tests import stars
from qe.people.judgements.violations import Violation

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Cells as plain text; the first `texts` columns are texts, the others numbers."""

    title: str
    header: Row
    rows: tuple[Row, ...]
    texts: int = 1

    def markdown(self) -> str:
        """A heading and a pipe table, or the word `none` in place of its rows."""
        if not self.rows:
            return f"### {self.title}\n\nnone\n"
        rule = ["---"] * self.texts + ["---:"] * (len(self.header) - self.texts)
        lines = [self.header, rule, *self.rows]
        cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
        body = "\n".join(f"| {' | '.join(line)} |" for line in cells)
        return f"### {self.title}\n\n{body}\n"

    def latex(self) -> str:
        """A table for a paper (package booktabs)."""
        columns = "l" * self.texts + "r" * (len(self.header) - self.texts)
        rows = [" & ".join(map(latex_escaped, row)) + r" \\" for row in (self.header, *self.rows)]
        return "\n".join([
            r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rows[0],
            r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}",
            rf"\caption{{{latex_escaped(self.title)}.}}", r"\end{table}", "",
        ])  # fmt: skip


def all_tables(report: RankingReport) -> list[Table]:
    """Every table of a report."""
    tables = [methods_table(report), head_to_head_table(report), correlation_table(report)]
    tables += violation_tables(report)
    tables.append(circle_table(report))
    if report.agreement is not None:
        tables.append(agreement_table(report))
    return tables


def methods_table(report: RankingReport) -> Table:
    """The orders of all methods side by side, as in Table 5 of the findings; their costs in the last rows."""
    longest = max(len(result.order) for result in report.methods.values())
    columns = [_column(result, longest) for result in report.methods.values()]
    ranks = [str(i + 1) for i in range(longest)]
    rows = list(zip(ranks, *columns, strict=True))
    rows.append(("violated", *(str(result.cost_in_judgements) for result in report.methods.values())))
    rows.append(("unique", *("yes" if result.unique else "no" for result in report.methods.values())))
    header = ("rank", *report.methods)
    title = f"{report.name}: score, rank range and system by each method"
    return Table(title, header, tuple(rows), texts=len(header))


def _column(result: MethodResult, length: int) -> list[str]:
    cells = []
    for i, name in enumerate(result.order):
        parts = [] if result.scores is None else [score_text(result.scores[i])]
        if result.ranges is not None:
            parts.append(f"({range_text(result.ranges[name])})")
        cells.append(" ".join([*parts, name]))
    return cells + [""] * (length - len(cells))


def head_to_head_table(report: RankingReport) -> Table:
    """How often the system of a column was judged better than that of a row, of all their judgements.

    Stars are those of the sign test, as in the appendix of the findings; the best system comes first.
    """
    counts = report.counts
    order = [
        counts.systems.index(name) for name in report.methods[leading(report)].order if name in counts.systems
    ]
    rows = []
    for row in order:
        cells = []
        for column in order:
            judged = counts.judged[row, column]
            share = f"{counts.wins[column, row] / judged:.2f}" if judged else "-"
            better = counts.wins[column, row] > counts.wins[row, column]
            cells.append(
                "–" if row == column else share + (stars(report.p_values[row, column]) if better else "")
            )
        rows.append((counts.systems[row], *cells))
    title = (
        f"{report.name}: share of judgements in which the column's system is better than the row's, ties in "
        "the denominator; sign test: * p <= .10, † p <= .05, ‡ p <= .01"
    )
    return Table(title, ("", *(counts.systems[i] for i in order)), tuple(rows))


def correlation_table(report: RankingReport) -> Table:
    """Spearman's rho above the diagonal, Kendall's tau below."""
    known = report.correlations
    both = np.triu(known.spearman, 1) + np.tril(known.kendall, -1)
    rows = tuple(
        (name, *("1" if i == j else f"{both[i, j]:.3f}" for j in range(len(both))))
        for i, name in enumerate(known.methods)
    )
    title = f"{report.name}: rank correlation between methods, Spearman above the diagonal, Kendall below"
    return Table(title, ("", *known.methods), rows)


def violation_tables(report: RankingReport) -> list[Table]:
    """The preferences that each order violates, as in Lopez 2012, Table 3; one table for equal lists."""
    methods: dict[tuple[Violation, ...], list[str]] = {}
    for name, result in report.methods.items():
        methods.setdefault(result.violations, []).append(name)
    return [
        Table(
            f"{report.name}: preferences violated by {', '.join(names)}, {sum(v.margin for v in violated)} "
            "judgements in all",
            ("preferred", "ranked above it", "wins - losses"),
            tuple((v.preferred, v.ranked_above, str(v.margin)) for v in violated),
            texts=2,
        )
        for violated, names in methods.items()
    ]


def circle_table(report: RankingReport) -> Table:
    """The intransitive circles, strongest first."""
    rows = tuple(
        (" > ".join([*circle.systems, circle.systems[0]]), ", ".join(map(str, circle.margins)))
        for circle in report.circles
    )
    return Table(f"{report.name}: intransitive circles", ("circle", "wins - losses"), rows)


def agreement_table(report: RankingReport) -> Table:
    """Kappa between and within judges, as in Table 3 of the findings."""
    if report.agreement is None:
        raise ValueError(f"{report.name} has no tasks to compute agreement from")
    rows = tuple((name, *_kappa_cells(kappa)) for name, kappa in vars(report.agreement).items())
    header = ("judges", "pairs", "P(A)", "P(E)", "kappa", "95 % interval")
    return Table(f"{report.name}: agreement of judges", header, rows)


def _kappa_cells(kappa: Kappa) -> Row:
    interval = "-" if np.isnan(kappa.ci).any() else f"{kappa.ci[0]:.3f} .. {kappa.ci[1]:.3f}"
    numbers = (kappa.observed, kappa.chance, kappa.kappa)
    return (f"{kappa.pairs:,}", *("-" if np.isnan(x) else f"{x:.3f}" for x in numbers), interval)


def leading(report: RankingReport) -> str:
    """The method whose order decides the order of rows: the first with rank ranges, otherwise the first."""
    ranged = [name for name, result in report.methods.items() if result.ranges is not None]
    return next(iter((*ranged, *report.methods)))


def score_text(score: float) -> str:
    """Three decimals, '-' where undefined."""
    return "-" if np.isnan(score) else f"{score:.3f}"


def range_text(bounds: tuple[int, int]) -> str:
    """`3-5`, or `3` where both are the same."""
    low, high = bounds
    return str(low) if low == high else f"{low}-{high}"


def latex_escaped(text: str) -> str:
    """Text as LaTeX shows it."""
    special = {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<=": r"$\le$", "†": r"$\dagger$", "‡": r"$\ddagger$", "*": r"$\star$",
        ">": "$>$", "<": "$<$", "–": "--",
    }  # fmt: skip
    return re.sub(r"<=|[\\~^&%$#_{}†‡*<>–]", lambda m: special.get(m.group(), "\\" + m.group()), text)
