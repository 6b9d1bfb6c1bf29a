"""Writes ranking reports into a folder: JSON, Markdown, LaTeX, plots."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from features.storage.files import atomic_file
from qe.people.judgements.ranking_json import rankings_json, report_json
from qe.people.judgements.ranking_report import RankingReport
from qe.people.judgements.tables import all_tables


def write_reports(reports: Sequence[RankingReport], folder: Path) -> None:
    """rankings.json and power.png for all pairs; for each a folder of report.json, .md, .tex and plots."""
    from qe.evaluation.plots import save
    from qe.people.judgements.plots import plots, power_plot

    _write(folder / "rankings.json", to_text({report.name: rankings_json(report) for report in reports}))
    if any(report.power is not None for report in reports):
        save(power_plot(reports), folder / "power.png")
    folders = [folder_name(report.name) for report in reports]
    for i, report in enumerate(reports):
        same = folders[:i].count(folders[i])
        own = folder / (f"{folders[i]}-{same + 1}" if same else folders[i])
        _write(own / "report.json", to_text(report_json(report)))
        _write(own / "report.md", markdown(report))
        _write(own / "report.tex", latex(report))
        for name, figure in plots(report).items():
            save(figure, own / f"{name}.png")


def markdown(report: RankingReport) -> str:
    """All tables and notes of a report."""
    notes = "".join(f"\n{note}\n" for note in report.notes)
    return f"## {report.name}\n{notes}\n" + "\n".join(table.markdown() for table in all_tables(report))


def latex(report: RankingReport) -> str:
    """All tables of a report that have rows (package booktabs)."""
    return "\n".join(table.latex() for table in all_tables(report) if table.rows)


def to_text(value: object) -> str:
    """JSON for people and programs alike."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def folder_name(pair: str) -> str:
    """A language pair as the name of a folder.

    >>> folder_name("Haitian Creole (Raw)-English")
    'Haitian-Creole-Raw-English'
    """
    return re.sub(r"[^\w.]+", "-", pair).strip("-.") or "pair"


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8", newline="")
