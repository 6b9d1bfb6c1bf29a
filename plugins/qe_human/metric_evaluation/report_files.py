"""Files of a report on metrics: JSON, Markdown, LaTeX, plots, averages over language pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from qe.display import charts, files
from qe.display.charts import save
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
    figure, panels = charts.panels(1.4 + 3.9 * columns, 0.8 + rows * (1.5 + 0.3 * longest), rows, columns)
    for axes, result in zip(panels, results, strict=False):
        clusters = [result.cluster_of(metric.name) or 1 for metric in result.metrics]
        colours = [charts.BLUE if cluster % 2 else charts.VERMILLION for cluster in clusters]
        scores, ends = [metric.score for metric in result.metrics], [metric.ci for metric in result.metrics]
        charts.forest(axes, scores, ends, colours)
        charts.rows(axes, [metric.name for metric in result.metrics], result.clusters or ())
        axes.locator_params("x", nbins=5)
        unit = "systems" if result.level == "system" else "groups" if result.groups > 1 else "group"
        charts.describe(axes, title_of(result.name), f"{result.groups:,} {unit} · {result.values:,} scores")
    for axes in panels[len(results) :]:
        axes.set_visible(False)
    figure.suptitle(f"{report.name}: metrics against people", x=0.01, ha="left", fontweight="bold")
    return figure


def significance_plot(report: MetaReport, result: CorrelationResult) -> Figure:
    names, level = (
        [metric.name for metric in result.metrics if not np.isnan(metric.score)],
        report.settings.level,
    )
    k = len(names)
    values, texts = np.full((k, k), np.nan), np.full((k, k), "", object)
    for (a, b, _), test in result.tests.items():
        cell = names.index(a), names.index(b)
        values[cell], texts[cell] = test.p_corrected <= level, p_value(test.p_corrected, level)
    figure, (axes,) = charts.panels(max(5.4, 3.0 + 0.62 * k), max(4.2, 2.4 + 0.46 * k))
    charts.matrix(axes, names, values, texts.tolist(), 2.0)
    note = f"p of the row being better than the column ({report.settings.correct}) · blue: p ≤ {level:g}"
    charts.describe(axes, f"{report.name}: {title_of(result.name)}", note)
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
