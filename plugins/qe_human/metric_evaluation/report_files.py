"""Writes reports on metrics into a folder: JSON, Markdown, LaTeX, plots, averages over language pairs."""

from collections.abc import Sequence
from pathlib import Path

from qe.display import files
from qe.display.drawing import save
from qe_human.metric_evaluation.correlation_plots import plots
from qe_human.metric_evaluation.report import MetaReport, average_tables, latex, markdown, reports_json


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
