"""The pool as a table, and the table of what to annotate next."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from features.core.errors import InputError
from features.core.files import atomic_file
from features.core.segments import Segments
from qe.scoring import tables
from qe.scoring.naming import Names
from qe.suggestion.suggest import Suggestions

COLUMNS: Final = ("rank", "row", "id", "source", "target", "uncertainty")
_TYPES: Final = {"rank": pa.int64(), "row": pa.int64(), "uncertainty": pa.float64()}


@dataclass(frozen=True, eq=False)
class Pool:
    """columns  of Segments, of the rows that can be used
    rows     the number of each in the file, from 1
    ids      of each, or its number
    refused  reason -> rows that cannot be used
    """

    columns: Mapping[str, list[str]]
    rows: list[int]
    ids: list[str]
    refused: Mapping[str, int]


def read_pool(path: Path, columns: Mapping[str, str] | None = None) -> Pool:
    """The translations of a table; `columns`: name -> the header that it has in the table.

    Raises InputError if there is no row that can be used.
    """
    names = Names(columns or {})
    names.check(("source", "target"), tables.columns_of(path), path, "a pool")
    kept: dict[str, list[str]] = {}
    rows: list[int] = []
    ids: list[str] = []
    refused: dict[str, int] = {}
    for number, given in enumerate(tables.read_rows(path), start=1):
        row, reason = names.view(given)
        known = {name: row[name] for name in Segments.column_names() if name in row and name != "id"}
        reason = reason or tables.unusable(known, ("source", "target", *known))
        if not reason and rows and set(known) != set(kept):
            reason = "other columns than the first row"
        if reason:
            refused[reason] = refused.get(reason, 0) + 1
            continue
        rows.append(number)
        ids.append(str(row.get("id", number)))
        for name, value in known.items():
            kept.setdefault(name, []).append(value)
    if not rows:
        told = next(iter(refused), "it has no rows")
        raise InputError(f"holds no translation that can be used ({told})", where=path)
    return Pool(kept, rows, ids, refused)


def write_suggestions(path: Path, pool: Pool, suggestions: Suggestions) -> None:
    """What to annotate, the most urgent first, as TSV, CSV, JSONL or Parquet."""
    kind, rows = tables.kind_of(path), list(_rows(pool, suggestions))
    body = tables.encode(rows, COLUMNS, kind, _TYPES)
    with atomic_file(path) as temporary, tables.writing(temporary, path.suffix == ".gz") as stream:
        stream.write(body if kind == "parquet" else tables.header(COLUMNS, kind) + body)


def _rows(pool: Pool, suggestions: Suggestions) -> list[dict[str, Any]]:
    chosen = zip(suggestions.rows.tolist(), suggestions.uncertainty.tolist(), strict=True)
    return [
        {
            "rank": rank,
            "row": pool.rows[i],
            "id": pool.ids[i],
            "source": pool.columns["source"][i],
            "target": pool.columns["target"][i],
            "uncertainty": round(uncertainty, 6),
        }
        for rank, (i, uncertainty) in enumerate(chosen, start=1)
    ]
