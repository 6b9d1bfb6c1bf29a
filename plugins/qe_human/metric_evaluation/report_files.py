"""Files of a report on metrics: JSON, Markdown, LaTeX, plots, averages over language pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from qe.display import files
from qe.display.drawing import BLUE, GREY, INK, VERMILLION, headline, new_figure, plain_axes, save
from qe.display.numbers import p_value
from qe_human.human import title_of
from qe_human.metric_evaluation.comparison import CorrelationResult
from qe_human.metric_evaluation.report import MetaReport, average_tables, latex, markdown, reports_json

_COLUMNS = 3  # panels side by side


def correlations_plot(report: MetaReport) -> Figure:
    results = list(report.results.values())
    columns = min(_COLUMNS, len(results))
    rows = -(-len(results) // columns)
    longest = max(len(result.metrics) for result in results)
    figure = new_figure(1.4 + 3.9 * columns, 0.8 + rows * (1.5 + 0.3 * longest))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, result in zip(panels, results, strict=False):
        plain_axes(axes)
        for place, metric in enumerate(result.metrics):
            cluster = result.cluster_of(metric.name)
            colour = BLUE if cluster is None or cluster % 2 else VERMILLION
            if not np.isnan(metric.ci).any():
                axes.plot(metric.ci, [place, place], color=colour, linewidth=5, alpha=0.35,
                          solid_capstyle="round")  # fmt: skip
            axes.plot(metric.score, place, "o", color=colour, markersize=7)
        names = [metric.name for metric in result.metrics]
        axes.set_yticks(range(len(names)), names, fontsize=9)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(False, axis="y")
        place = 0
        for group in (result.clusters or ())[:-1]:
            place += len(group)
            axes.axhline(place - 0.5, color=GREY, linewidth=0.8, linestyle=":")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        unit = "systems" if result.level == "system" else "groups" if result.groups > 1 else "group"
        axes.set_title(f"{title_of(result.name)}\n", loc="left", fontsize=11, fontweight="bold", color=INK)
        axes.annotate(
            f"{result.groups:,} {unit} · {result.values:,} scores", (0, 1), (0, 5),
            xycoords="axes fraction", textcoords="offset points", fontsize=8.5, color=GREY,
        )  # fmt: skip
    for axes in panels[len(results) :]:
        axes.set_visible(False)
    figure.suptitle(
        f"{report.name}: metrics against people", x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK
    )
    return figure


def significance_plot(report: MetaReport, result: CorrelationResult) -> Figure:
    names = [metric.name for metric in result.metrics if not np.isnan(metric.score)]
    k = len(names)
    p_values = np.full((k, k), np.nan)
    for (a, b, _), one in result.tests.items():
        p_values[names.index(a), names.index(b)] = one.p_corrected
    level = report.settings.level
    figure = new_figure(max(5.4, 3.0 + 0.62 * k), max(4.2, 2.4 + 0.46 * k))
    axes = figure.add_subplot()
    shown = np.where(np.isnan(p_values), np.nan, np.where(p_values <= level, 1.0, 0.0))
    axes.set_facecolor("#F3F3F3")
    axes.imshow(shown, cmap="Blues", vmin=0, vmax=2.2, aspect="auto")
    for row in range(k):
        for column in range(row + 1, k):
            value = p_values[row, column]
            text = p_value(value, level)
            axes.text(column, row, text, ha="center", va="center", fontsize=8.5, color=INK)
    axes.set_xticks(range(k), names, rotation=40, ha="right", fontsize=9)
    axes.set_yticks(range(k), names, fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    note = f"p of the row being better than the column ({report.settings.correct}) · blue: p ≤ {level:g}"
    headline(axes, f"{report.name}: {title_of(result.name)}", note)
    return figure


def plots(report: MetaReport) -> Mapping[str, Figure]:
    figures = {"correlations": correlations_plot(report)}
    for name, result in report.results.items():
        if result.tests:
            figures[f"significance-{name}"] = significance_plot(report, result)
    return figures


def write_reports(reports: Sequence[MetaReport], folder: Path) -> None:
    """One report in the folder; several in a folder per language pair, with their averages."""
    if len(reports) == 1:
        write_report(reports[0], folder)
        return
    files.write_json(folder / "report.json", reports_json(reports))
    files.write(folder / "report.md", files.markdown("Averages", [], average_tables(reports)))
    files.write(folder / "report.tex", files.latex(average_tables(reports)))
    for report in reports:
        write_report(report, folder / files.folder_name(report.name))


def write_report(report: MetaReport, folder: Path) -> None:
    """report.json, report.md, report.tex, correlations.png, and significance-NAME.png."""
    files.write_json(folder / "report.json", report.to_json())
    files.write(folder / "report.md", markdown([report]))
    files.write(folder / "report.tex", latex([report]))
    for name, figure in plots(report).items():
        save(figure, folder / f"{files.folder_name(name)}.png")
