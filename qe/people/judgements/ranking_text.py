"""A ranking report as text for the terminal."""

from qe.people.judgements.ranking_report import RankingReport
from qe.people.judgements.tables import leading, range_text, score_text


def text(report: RankingReport) -> str:
    """One line per system in the order of the leading method, the ranks by all others beside it."""
    name = leading(report)
    others = [other for other in report.methods if other != name]
    lines = [*_header(report, name, others), *_rows(report, name, others), _costs(report, name, others)]
    return "\n".join([_summary(report), "", *_aligned(lines), "", *_footnotes(report, name)]) + "\n"


def _header(report: RankingReport, name: str, others: list[str]) -> list[list[str]]:
    """The names of the columns, over as many lines as the longest has words."""
    result = report.methods[name]
    titles = ["", "rank", f"system, by {name}", *(["score"] if result.scores else [])]
    titles += ["range"] if result.ranges else []
    words = [*([title] for title in titles), *(other.split("_") for other in others)]
    height = max(map(len, words))
    columns = [[""] * (height - len(column)) + column for column in words]
    return [list(line) for line in zip(*columns, strict=True)]


def _rows(report: RankingReport, name: str, others: list[str]) -> list[list[str]]:
    """One line per system; an empty one between clusters."""
    result = report.methods[name]
    cuts = {group[-1] for group in (result.clusters or ())[:-1]}
    lines: list[list[str]] = []
    for place, system in enumerate(result.order, start=1):
        cells = ["•" if system in report.winners else "", str(place), system]
        cells += [score_text(result.scores[place - 1])] if result.scores else []
        cells += [range_text(result.ranges[system])] if result.ranges else []
        orders = (report.methods[other].order for other in others)
        cells += [str(order.index(system) + 1) if system in order else "" for order in orders]
        lines += [cells, []] if system in cuts else [cells]
    return lines


def _costs(report: RankingReport, name: str, others: list[str]) -> list[str]:
    result = report.methods[name]
    own, shown = str(result.cost_in_judgements), bool(result.scores) + bool(result.ranges)
    label = "violated preferences" if shown else f"violated preferences: {own}"
    cells = ["", "", label, *[own, ""][:shown]]
    return [*cells, *(str(report.methods[other].cost_in_judgements) for other in others)]


def _aligned(lines: list[list[str]]) -> list[str]:
    """Columns as wide as their widest cell; the third is text, the others are numbers."""
    widths = [max(map(len, column)) for column in zip(*filter(None, lines), strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i == 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    ]


def _summary(report: RankingReport) -> str:
    counts = report.counts
    ties = int(counts.ties.sum()) // 2
    shown = "".join(f", {number:,} {what}" for what, number in report.shown.items())
    return (
        f"{report.name}: {len(counts.systems)} systems{shown}, {counts.total:,} pairwise judgements "
        f"({100 * ties / counts.total:.1f} % ties)"
    )


def _footnotes(report: RankingReport, leading_method: str) -> list[str]:
    recipe, lines = report.recipe, []
    if report.winners:
        lines.append(f"•  no system is significantly better (sign test, p <= {recipe['level']:g})")
    if report.methods[leading_method].ranges is not None:
        lines.append(
            f"range: {100 * recipe['confidence']:g} % of {recipe['samples']:,} bootstrap samples of tasks; "
            f"a gap parts clusters by {leading_method}"
        )
    ambiguous = [name for name, result in report.methods.items() if not result.unique]
    if ambiguous:
        lines.append(f"another order is as good by {', '.join(ambiguous)}")
    knot = f", the largest knot joins {len(report.knots[0])} systems" if report.knots else ""
    lines.append(f"{len(report.circles)} intransitive circles{knot}")
    if report.agreement is not None:
        for word, kappa in vars(report.agreement).items():
            if kappa.pairs:
                lines.append(
                    f"kappa {word} judges {kappa.kappa:.3f} [{kappa.ci[0]:.3f}, {kappa.ci[1]:.3f}] "
                    f"from {kappa.pairs:,} pairs of judgements"
                )
    return [*lines, *report.notes]
