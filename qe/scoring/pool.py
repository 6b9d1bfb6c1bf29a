"""Pools: translations without labels, read whole from a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.data.table_rows import Layout, open_input, unusable
from qe.scoring.naming import Names


@dataclass(frozen=True, eq=False)
class Pool:
    """Unlabelled rows to choose from, with their ids and reasons for refusal.

    columns  of Segments, of the rows that can be used
    rows     the number of each in the file, from 1
    ids      of each, or its number
    refused  reason -> rows that cannot be used
    """

    columns: Mapping[str, list[str]]
    rows: list[int]
    ids: list[str]
    refused: Mapping[str, int]


def read_pool(path: Path, columns: Mapping[str, str] | None = None, layout: Layout | None = None) -> Pool:
    """The translations of a table, or of a file of a translation tool.

    columns  name -> the header that it has in the table; what is not given has a header in use
    layout   how the table lies on disk, as far as that is not to be seen

    Raises InputError if there is no row that can be used.
    """
    given = open_input([path], layout)
    names = Names(columns or {}).completed(("source", "target"), given.headers, {}, path)
    names.check(("source", "target"), given.columns, path, "a pool")
    kept: dict[str, list[str]] = {}
    rows: list[int] = []
    ids: list[str] = []
    refused: dict[str, int] = {}
    for number, one in enumerate(given.rows(), start=1):
        row, reason = names.view(one)
        known = {name: row[name] for name in Segments.column_names() if name in row and name != "id"}
        reason = reason or unusable(known, ("source", "target", *known))
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
        raise InputError(f"holds no translation that can be used ({told})", location=path)
    return Pool(kept, rows, ids, refused)
