"""Files of ranking reports: JSON, Markdown, LaTeX, plots."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from qe.display import charts, files
from qe.display.charts import save
from qe.display.numbers import number
from qe_human.judgements.certainty import stars, stars_legend
from qe_human.judgements.ranking_report import RankingReport
from qe_human.judgements.ranking_tables import latex, leading, markdown, rankings_json, report_json


def heat_map(report: RankingReport) -> Figure:
    systems = report.counts.systems
    order = [systems.index(name) for name in report.methods[leading(report)].order if name in systems]
    wins = report.counts.wins[np.ix_(order, order)].T  # [row, column]: the column's system was better
    judged = report.counts.judged[np.ix_(order, order)]
    with np.errstate(invalid="ignore"):
        share, net = wins / judged, (wins - wins.T) / judged
    np.fill_diagonal(net, np.nan)
    marks = np.full(net.shape, "", object)
    for row, column in zip(*np.nonzero(net > 0), strict=True):
        marks[row, column] = stars(report.p_values[order[row], order[column]])
    shares = [
        ["" if np.isnan(value) else number(value, 2).removeprefix("0") for value in row]
        for row in np.where(np.isnan(net), np.nan, share)
    ]
    k, reach = len(order), max(float(np.nanmax(np.abs(net), initial=0.0)), 1e-9)
    figure, (axes,) = charts.panels(max(6.8, 3.2 + 0.52 * k), max(4.8, 2.4 + 0.42 * k))
    texts = (np.array(shares, object) + marks).tolist()
    image = charts.matrix(axes, [systems[i] for i in order], net, texts, reach)
    figure.colorbar(image, ax=axes, label="wins minus losses (share)", shrink=0.7)
    shown = {mark[0] for mark in marks.ravel() if mark}
    legends = [stars_legend(mark).replace("<=", "≤") for mark in "*†‡" if mark in shown]
    note = " · ".join(["shares of judgements", *legends])
    charts.describe(axes, f"{report.name}: head to head", note, xlabel="judged better ...", ylabel="... than")
    return figure


def rank_range_plot(report: RankingReport, method: str) -> Figure:
    result = report.methods[method]
    if result.ranges is None or result.clusters is None:
        raise ValueError(f"{method} has no rank ranges")
    k = len(result.order)
    figure, (axes,) = charts.panels(7.4, 2.2 + 0.3 * k)
    colours = [charts.PALETTE[i % 2] for i, group in enumerate(result.clusters) for _ in group]
    charts.forest(axes, range(1, k + 1), [result.ranges[name] for name in result.order], colours)
    names = [("• " if name in report.winners else "") + name for name in result.order]
    charts.rows(axes, names, result.clusters)
    axes.locator_params("x", integer=True)
    confidence, samples = f"{100 * report.recipe['confidence']:g}", report.recipe["samples"]
    bullet = " · • beaten by nobody" if report.winners else ""
    charts.describe(
        axes, f"{report.name}: significant differences", f"{confidence} % of {samples:,} samples{bullet}",
        xlim=(0.5, k + 0.5), xlabel=f"rank by {method}",
    )  # fmt: skip
    return figure


def methods_plot(report: RankingReport) -> Figure:
    counted = report.counts.systems
    orders = [[name for name in result.order if name in counted] for result in report.methods.values()]
    k = len(counted)
    figure, (axes,) = charts.panels(max(6.8, 2.6 + 1.15 * len(orders)), 2.6 + 0.3 * k)
    leader = [name for name in report.methods[leading(report)].order if name in counted]
    for place, system in enumerate(leader):
        ranks = [order.index(system) for order in orders]
        charts.curve(axes, range(len(orders)), ranks, place=place, marker="o")
    charts.rows(axes, [f"{name}  {rank}" for rank, name in enumerate(orders[0], start=1)])
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(k), [f"{rank}  {name}" for rank, name in enumerate(orders[-1], start=1)])
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    labels = [
        "\n".join([*name.split("_"), f"({result.cost_in_judgements})"])
        for name, result in report.methods.items()
    ]
    axes.set_xticks(range(len(orders)), labels)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    note = "in brackets: judgements that the order violates"
    charts.describe(axes, f"{report.name}: ranks by method", note)
    return figure


def power_plot(reports: Sequence[RankingReport]) -> Figure:
    """Share of significant pairs by number of judgements (findings of WMT 2012, Figure 2), for all pairs."""
    known = {report.name: report.power for report in reports if report.power is not None}
    if not known:
        raise ValueError("no report has tasks to draw parts of")
    levels = next(iter(known.values())).levels
    figure, panels = charts.panels(2.2 + 3.2 * len(levels), 4.4, columns=len(levels), sharey=True)
    for column, (axes, level) in enumerate(zip(panels, levels, strict=True)):
        for place, (name, power) in enumerate(known.items()):
            shares = 100 * power.shares[column]
            ends = np.quantile(shares, [0.1, 0.9], axis=1).T
            charts.curve(axes, power.judgements, shares.mean(axis=1), ends, place, label=name)
        charts.describe(axes, f"p ≤ {number(level, 2).removeprefix('0')}", ylim=(0, 100), xlim=(0, None))
    panels[0].set_ylabel("pairs of systems told apart (%)")
    charts.footnote(figure, "judgements per pair of systems; bands: 80 % of the draws")
    figure.suptitle("What more judgements buy", x=0.01, ha="left", fontweight="bold")
    return figure


def plots(report: RankingReport) -> Mapping[str, Figure]:
    figures = {"heat_map": heat_map(report), "methods": methods_plot(report)}
    method = leading(report)
    if report.methods[method].ranges is not None:
        figures["rank_ranges"] = rank_range_plot(report, method)
    return figures


def write_reports(reports: Sequence[RankingReport], folder: Path) -> None:
    """Writes rankings.json and power.png, and for each pair a folder: report.json, .md, .tex and plots."""
    files.write_json(folder / "rankings.json", {report.name: rankings_json(report) for report in reports})
    if any(report.power is not None for report in reports):
        save(power_plot(reports), folder / "power.png")
    folders = [files.folder_name(report.name) for report in reports]
    for i, report in enumerate(reports):
        same = folders[:i].count(folders[i])
        own = folder / (f"{folders[i]}-{same + 1}" if same else folders[i])
        files.write_json(own / "report.json", report_json(report))
        files.write(own / "report.md", markdown(report))
        files.write(own / "report.tex", latex(report))
        for name, figure in plots(report).items():
            save(figure, own / f"{name}.png")
