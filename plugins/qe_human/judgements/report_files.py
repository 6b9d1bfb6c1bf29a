"""Writes ranking reports into a folder: JSON, Markdown, LaTeX, plots."""

from collections.abc import Sequence
from pathlib import Path

from qe.display import files
from qe_human.judgements.ranking_json import rankings_json, report_json
from qe_human.judgements.ranking_report import RankingReport
from qe_human.judgements.ranking_tables import all_tables


def write_reports(reports: Sequence[RankingReport], folder: Path) -> None:
    """Write rankings.json and power.png for all pairs, and a folder for each pair. A pair's folder holds
    report.json, .md, .tex and plots.
    """
    from qe.display.drawing import save
    from qe_human.judgements.ranking_plots import plots, power_plot

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


def markdown(report: RankingReport) -> str:
    """All tables and notes of a report."""
    return files.markdown(report.name, report.notes, all_tables(report))


def latex(report: RankingReport) -> str:
    """All tables of a report that have rows (package booktabs)."""
    return files.latex(all_tables(report))
