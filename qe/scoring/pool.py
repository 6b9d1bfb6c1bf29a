"""Rows of a file read whole: unlabelled translations to choose from, segments for a model."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.data.table_rows import Layout, needed_texts, open_input
from qe.models.model import Model
from qe.scoring.naming import Names
from qe.scoring.scorer import training_headers


@dataclass(frozen=True, eq=False)
class Pool:
    """Unlabelled rows to choose from, with their numbers and ids, and the reasons for refusing others."""

    columns: Mapping[str, list[str]]
    rows: list[int]
    ids: list[str]
    refused: Mapping[str, int]


def read_pool(path: Path, columns: Mapping[str, str] | None = None, layout: Layout | None = None) -> Pool:
    """The translations of a table or of a translation tool's file; raises InputError if there are none."""
    table = open_input([path], layout)
    names = Names(columns or {}).completed(("source", "target"), table.headers, {}, path)
    names.check(("source", "target"), table.columns, path, "a pool")
    pool = Pool({}, [], [], refused := Counter[str]())
    texts: dict[str, list[str]] = {}
    for number, row in enumerate(table.rows(), start=1):
        view, reason = names.view(row)
        there = [name for name in Segments.column_names() if name in view and name != "id"]
        values, unread = needed_texts(view, list(dict.fromkeys(("source", "target", *there))))
        reason = reason or unread
        if not reason and pool.rows and set(values) != set(texts):
            reason = "other columns than the first row"
        if reason:
            refused[reason] += 1
            continue
        pool.rows.append(number)
        pool.ids.append(str(view.get("id", number)))
        for name, value in values.items():
            texts.setdefault(name, []).append(value)
    if not pool.rows:
        reason = next(iter(refused), "it has no rows")
        raise InputError(f"holds no translation that can be used ({reason})", location=path)
    return Pool(texts, pool.rows, pool.ids, dict(refused))


def segments_of(model: Model, path: Path, columns: Mapping[str, str]) -> Segments:
    """The rows of a file that the model can score, numbered from 1 in their order."""
    needed = model.columns()
    table = open_input([path])
    named = model.feature_set.table_columns
    names = Names(columns).completed(needed, table.headers, training_headers(model), path, named)
    names.check(needed, table.columns, path, f"the model '{model.name}'")
    needed = tuple(dict.fromkeys((*needed, *named)))
    views = (row for row, reason in map(names.view, table.rows()) if not reason)
    rows = [texts for texts, reason in (needed_texts(row, needed, named) for row in views) if not reason]
    if not rows:
        raise InputError("no row has a source and a translation that can be scored", location=path)
    return model.segments({name: [row[name] for row in rows] for name in needed})
