"""Files of ranking reports: JSON, Markdown, LaTeX, plots."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from qe.display import files
from qe.display.drawing import (
    BLUE,
    DASHES,
    GREY,
    INK,
    PALE,
    PALETTE,
    VERMILLION,
    canvas,
    headline,
    new_figure,
    plain_axes,
    save,
)
from qe.display.numbers import number
from qe_human.judgements.certainty import stars, stars_legend
from qe_human.judgements.ranking_report import MethodResult, RankingReport
from qe_human.judgements.ranking_tables import latex, leading, markdown, rankings_json, report_json

# Blue where the column's system wins, vermillion where it loses.
_WINS = LinearSegmentedColormap.from_list("wins", [VERMILLION, "#FFFFFF", BLUE])


def heat_map(report: RankingReport) -> Figure:
    counts = report.counts
    order = [
        counts.systems.index(name) for name in report.methods[leading(report)].order if name in counts.systems
    ]
    k = len(order)
    wins = counts.wins[np.ix_(order, order)].T  # [row, column]: the column's system was better
    judged = counts.judged[np.ix_(order, order)]
    with np.errstate(invalid="ignore"):
        share, net = wins / judged, (wins - wins.T) / judged
    np.fill_diagonal(net, np.nan)
    names = [counts.systems[i] for i in order]
    figure = new_figure(max(6.8, 3.2 + 0.52 * k), max(4.8, 2.4 + 0.42 * k))
    axes = figure.add_subplot()
    axes.set_facecolor(PALE)  # of the diagonal
    reach = max(float(np.nanmax(np.abs(net), initial=0.0)), 1e-9)
    marks: set[str] = set()
    image = axes.imshow(net, cmap=_WINS, vmin=-reach, vmax=reach, aspect="auto")
    for row in range(k):
        for column in range(k):
            if row != column:
                p = report.p_values[order[row], order[column]]
                mark = stars(p) if net[row, column] > 0 else ""
                marks.add(mark)
                text = number(share[row, column], 2).removeprefix("0") if judged[row, column] else ""
                dark = abs(net[row, column]) > 0.62 * reach
                axes.text(
                    column, row, text + mark, ha="center", va="center",
                    fontsize=8, color="white" if dark else INK,
                )  # fmt: skip
    axes.set_xticks(range(k), names, rotation=40, ha="right", fontsize=8.5)
    axes.set_yticks(range(k), names, fontsize=8.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(xlabel="judged better ...", ylabel="... than")
    figure.colorbar(image, ax=axes, label="wins minus losses (share)", shrink=0.7)
    told = [mark.replace("<=", "≤") for mark in map(stars_legend, "*†‡") if mark and mark[0] in marks]
    headline(axes, f"{report.name}: head to head", " · ".join(["shares of judgements", *told]))
    return figure


def rank_range_plot(report: RankingReport, method: str) -> Figure:
    result = report.methods[method]
    if result.ranges is None or result.clusters is None:
        raise ValueError(f"{method} has no rank ranges")
    figure, axes = canvas(7.4, 2.2 + 0.3 * len(result.order))
    colour = {name: PALETTE[i % 2] for i, group in enumerate(result.clusters) for name in group}
    for place, name in enumerate(result.order, start=1):
        low, high = result.ranges[name]
        axes.plot(
            [low, high], [place, place], color=colour[name], linewidth=6, alpha=0.35, solid_capstyle="round"
        )
        axes.plot(place, place, "o", color=colour[name], markersize=7)
    _draw_cuts(axes, result)
    axes.set_yticks(range(1, len(result.order) + 1), _labels(report, result), fontsize=9)
    axes.set(ylim=(len(result.order) + 0.6, 0.4), xlim=(0.5, len(result.order) + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(False, axis="y")
    confidence, samples = f"{100 * report.recipe['confidence']:g}", report.recipe["samples"]
    bullet = " · • beaten by nobody" if report.winners else ""
    headline(
        axes, f"{report.name}: significant differences", f"{confidence} % of {samples:,} samples{bullet}"
    )
    axes.set_xlabel(f"rank by {method}")
    return figure


def methods_plot(report: RankingReport) -> Figure:
    orders = {
        name: [system for system in result.order if system in report.counts.systems]
        for name, result in report.methods.items()
    }
    systems = [system for system in report.methods[leading(report)].order if system in report.counts.systems]
    figure = new_figure(max(6.8, 2.6 + 1.15 * len(orders)), 2.6 + 0.3 * len(systems))
    axes = figure.add_subplot()
    plain_axes(axes)
    for i, system in enumerate(systems):
        ranks = [order.index(system) + 1 for order in orders.values()]
        dash = DASHES[i // len(PALETTE) % len(DASHES)]
        axes.plot(
            range(len(ranks)), ranks, dash, color=PALETTE[i % len(PALETTE)], linewidth=1.8, marker="o", ms=6
        )
    first, last = next(iter(orders.values())), list(orders.values())[-1]
    axes.set_yticks(
        range(1, len(systems) + 1), [f"{name}  {i + 1}" for i, name in enumerate(first)], fontsize=9
    )
    right = axes.secondary_yaxis("right")
    right.set_yticks(
        range(1, len(systems) + 1), [f"{i + 1}  {name}" for i, name in enumerate(last)], fontsize=9
    )
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    broken = {name: name.replace("_", "\n") for name in report.methods}
    labels = [f"{broken[name]}\n({result.cost_in_judgements})" for name, result in report.methods.items()]
    axes.set_xticks(range(len(orders)), labels, fontsize=8.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(ylim=(len(systems) + 0.5, 0.5))
    headline(axes, f"{report.name}: ranks by method", "in brackets: judgements that the order violates")
    return figure


def power_plot(reports: Sequence[RankingReport]) -> Figure:
    """Share of significant pairs by number of judgements (findings of WMT 2012, Figure 2), for all pairs."""
    known = {report.name: report.power for report in reports if report.power is not None}
    if not known:
        raise ValueError("no report has tasks to draw parts of")
    levels = next(iter(known.values())).levels
    figure = new_figure(2.2 + 3.2 * len(levels), 4.4)
    panels = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
    for place, (axes, level) in enumerate(zip(panels, levels, strict=True)):
        plain_axes(axes)
        for i, (name, power) in enumerate(known.items()):
            style = DASHES[i // len(PALETTE) % len(DASHES)]
            colour = PALETTE[i % len(PALETTE)]
            shares = power.shares[place]
            axes.plot(power.judgements, shares.mean(axis=1), style, color=colour, linewidth=1.8, label=name)
            low, high = np.quantile(shares, [0.1, 0.9], axis=1)
            axes.fill_between(power.judgements, low, high, color=colour, alpha=0.12, linewidth=0)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set(ylim=(0, 1), xlim=(0, None), xlabel="judgements per pair of systems")
        axes.set_title(f"p ≤ {number(level, 2).removeprefix('0')}", loc="left", fontsize=11, color=INK)
    panels[0].set_ylabel("pairs of systems told apart")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=9, frameon=False
    )
    figure.suptitle("What more judgements buy", x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    return figure


def plots(report: RankingReport) -> Mapping[str, Figure]:
    figures = {"heat_map": heat_map(report), "methods": methods_plot(report)}
    method = leading(report)
    if report.methods[method].ranges is not None:
        figures["rank_ranges"] = rank_range_plot(report, method)
    return figures


def _draw_cuts(axes: Axes, result: MethodResult) -> None:
    place = 0
    for group in (result.clusters or ())[:-1]:
        place += len(group)
        axes.axhline(place + 0.5, color=GREY, linewidth=0.8, linestyle=":")


def _labels(report: RankingReport, result: MethodResult) -> list[str]:
    return [("• " if name in report.winners else "") + name for name in result.order]


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
