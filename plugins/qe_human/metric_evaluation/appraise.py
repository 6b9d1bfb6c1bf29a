"""Exports of Appraise as tables of scores: direct assessments of systems."""

from pathlib import Path

from qe.data.appraise import judgements, standardised
from qe_human.metric_evaluation.scores import ScoreTable, averages


def read_appraise(path: Path, pair: str | None = None) -> list[ScoreTable]:
    """Scores of translations, raw (`score`) and standardised by annotator (`z`). Both are means over
    annotators. Raises InputError as `judgements` does.
    """
    rows, note = judgements(path, pair)
    notes = (f"{path.name}: {note}",) if note else ()
    z = standardised(rows)
    documents: dict[str, set[str]] = {}
    for row in rows:
        documents.setdefault(row.item, set()).add(row.document)
    several = any(len(named) > 1 for named in documents.values())  # items are counted in each document
    tables = []
    for name, values in (("score", [row.score for row in rows]), ("z", z)):
        parts: dict[tuple[str, str], list[float]] = {}
        for row, value in zip(rows, values, strict=True):
            segment = f"{row.document}:{row.item}" if several else row.item
            for system in row.system.split("+"):
                parts.setdefault((system, segment), []).append(value)
        tables.append(ScoreTable(name, averages(parts), notes=notes))
    return tables
