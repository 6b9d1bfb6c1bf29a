"""Writes reports on metrics into a folder: JSON, Markdown, LaTeX, plots."""

from pathlib import Path

from qe.display import files
from qe.people.metric_evaluation.correlation_tables import all_tables
from qe.people.metric_evaluation.report import MetaReport


def write_report(report: MetaReport, folder: Path) -> None:
    """report.json, report.md, report.tex, correlations.png, and significance-NAME.png."""
    from qe.display.drawing import save
    from qe.people.metric_evaluation.correlation_plots import plots

    files.write_json(folder / "report.json", report.to_json())
    files.write(folder / "report.md", markdown(report))
    files.write(folder / "report.tex", latex(report))
    for name, figure in plots(report).items():
        save(figure, folder / f"{files.folder_name(name)}.png")


def markdown(report: MetaReport) -> str:
    """All tables and notes."""
    return files.markdown(report.name, report.notes, all_tables(report))


def latex(report: MetaReport) -> str:
    """All tables (package booktabs)."""
    return files.latex(all_tables(report))
