"""Writes reports on metrics into a folder: JSON, Markdown, LaTeX, plots."""

from pathlib import Path

from features.storage.files import atomic_file
from qe.people.judgements.report_files import folder_name, to_text
from qe.people.metric_evaluation.report import MetaReport
from qe.people.metric_evaluation.tables import all_tables


def write_report(report: MetaReport, folder: Path) -> None:
    """report.json, report.md, report.tex, correlations.png, and significance-NAME.png."""
    from qe.evaluation.plots import save
    from qe.people.metric_evaluation.plots import plots

    texts = {"json": to_text(report.to_json()), "md": markdown(report), "tex": latex(report)}
    for ending, text in texts.items():
        with atomic_file(folder / f"report.{ending}") as temporary:
            temporary.write_text(text, "utf-8", newline="")
    for name, figure in plots(report).items():
        save(figure, folder / f"{folder_name(name)}.png")


def markdown(report: MetaReport) -> str:
    """All tables and notes."""
    notes = "".join(f"\n{note}\n" for note in report.notes)
    return f"## {report.name}\n{notes}\n" + "\n".join(table.markdown() for table in all_tables(report))


def latex(report: MetaReport) -> str:
    """All tables (package booktabs)."""
    return "\n".join(table.latex() for table in all_tables(report) if table.rows)
