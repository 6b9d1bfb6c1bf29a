"""Writes ranking reports into a folder: JSON, Markdown, LaTeX, plots."""

from collections.abc import Sequence
from pathlib import Path

from qe.display import files
from qe.display.drawing import save
from qe_human.judgements.ranking_plots import plots, power_plot
from qe_human.judgements.ranking_report import RankingReport
from qe_human.judgements.ranking_tables import latex, markdown, rankings_json, report_json


def write_reports(reports: Sequence[RankingReport], folder: Path) -> None:
    """Write rankings.json and power.png for all pairs, and a folder for each pair. A pair's folder holds
    report.json, .md, .tex and plots.
    """
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
