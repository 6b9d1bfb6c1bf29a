"""Write reports on metrics into a folder: JSON, Markdown, LaTeX and plots. Several language pairs get
averages, too.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qe.display import files
from qe.display.table import Table
from qe_human.metric_evaluation.averages import averages, averages_table
from qe_human.metric_evaluation.correlation_tables import all_tables
from qe_human.metric_evaluation.report import MetaReport


def write_reports(reports: Sequence[MetaReport], folder: Path) -> None:
    """One report in the folder; several in a folder per language pair, with their averages."""
    if len(reports) == 1:
        write_report(reports[0], folder)
        return
    files.write_json(folder / "report.json", reports_json(reports))
    files.write(folder / "report.md", files.markdown("Averages", [], _average_tables(reports)))
    files.write(folder / "report.tex", files.latex(_average_tables(reports)))
    for report in reports:
        write_report(report, folder / files.folder_name(report.name))


def write_report(report: MetaReport, folder: Path) -> None:
    """report.json, report.md, report.tex, correlations.png, and significance-NAME.png."""
    from qe.display.drawing import save
    from qe_human.metric_evaluation.correlation_plots import plots

    files.write_json(folder / "report.json", report.to_json())
    files.write(folder / "report.md", markdown([report]))
    files.write(folder / "report.tex", latex([report]))
    for name, figure in plots(report).items():
        save(figure, folder / f"{files.folder_name(name)}.png")


def reports_json(reports: Sequence[MetaReport]) -> dict[str, Any]:
    """One report as it is; several as `averages` (correlation -> metric) and `pairs`."""
    if len(reports) == 1:
        return reports[0].to_json()
    means = {name: {a.metric: a.to_json() for a in found} for name, found in averages(reports).items()}
    return {"averages": means, "pairs": {report.name: report.to_json() for report in reports}}


def markdown(reports: Sequence[MetaReport]) -> str:
    """All tables and notes."""
    parts = [files.markdown("Averages", [], _average_tables(reports))] if len(reports) > 1 else []
    parts += [files.markdown(report.name, report.notes, all_tables(report)) for report in reports]
    return "\n".join(parts)


def latex(reports: Sequence[MetaReport]) -> str:
    """All tables (package booktabs)."""
    means = _average_tables(reports) if len(reports) > 1 else []
    return files.latex([*means, *(table for report in reports for table in all_tables(report))])


def _average_tables(reports: Sequence[MetaReport]) -> list[Table]:
    return [averages_table(name, found) for name, found in averages(reports).items()]
