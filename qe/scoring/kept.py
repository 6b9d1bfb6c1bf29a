"""Kept: the input's own columns in the output, beside what scoring adds."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa

from features.basics.errors import InputError
from qe.data.table_rows import Unreadable
from qe.scoring import row_formats
from qe.scoring.naming import added_headers
from qe.scoring.row_formats import Kind, Types


class Source(Protocol):
    """An input: its file, and its columns with their types in Parquet."""

    @property
    def path(self) -> Path: ...

    @property
    def types(self) -> Types: ...


@dataclass(frozen=True)
class Kept:
    """Columns that a scored table keeps from its input, and the columns added to them.

    types: column -> its type in Parquet; added: column that scoring adds -> its header, behind the others.

    Text stays as it is, except that TSV cannot hold tabs and line ends (they become spaces). What is no text
    is written to TSV and CSV as JSON, dates as ISO 8601; JSON has null for NaN, and "inf" for infinity.
    """

    types: Types
    added: Mapping[str, str]
    kind: Kind

    @classmethod
    def make(cls, source: Source, added: Sequence[str], kind: Kind, id_header: str, suffix: str = "") -> Self:
        """What stays of an input; `suffix` of the headers of what is added.

        Raises InputError if the input has a column of the name of one that is added, or a column that the
        kind of the output cannot hold.
        """
        types = source.types
        new = [name for name in added if name != "id" or id_header not in types]
        headers = added_headers(new, types, suffix, source.path)
        for name in types:
            _check(name, types[name], kind, source.path)
        return cls(types, headers, kind)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the output, in order."""
        return (*self.types, *self.added.values())

    @property
    def column_types(self) -> Types:
        """Types of all columns of the output."""
        return {**self.types, **row_formats.types_of(self.added)}

    def merged(self, row: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
        """The row of the output: what was there, and what scoring adds."""
        there = {name: self._kept(name, value) for name, value in row.items()}
        nothing = {} if self.kind == "jsonl" else dict.fromkeys(self.types)
        new = {header: output[name] for name, header in self.added.items() if header not in there}
        return {**nothing, **there, **new}

    def _kept(self, name: str, value: Any) -> Any:
        if self.kind == "jsonl":
            return _json_value(value)
        if self.kind == "parquet":
            return _as_text(value) if self.types[name] == pa.string() else value
        return _as_text(value)


def _check(name: str, of: pa.DataType, kind: Kind, location: Path) -> None:
    if kind == "jsonl":
        remedy = "write Parquet, or leave out --keep"
    else:
        remedy = "write Parquet (from Parquet) or JSONL (from JSONL), or leave out --keep"
        if _encodable(name) != name:
            raise InputError(
                f"has a column {name!a}, which is no Unicode text", location=location, remedy=remedy
            )
    if kind != "parquet" and "binary" in str(of):
        raise InputError(f"the column '{name}' holds bytes ({of})", location=location, remedy=remedy)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, Unreadable):
        return None
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool | list | dict | tuple):
        return _encodable(json.dumps(_json_value(value), ensure_ascii=False))
    return str(value)


def _json_value(value: Any) -> Any:
    if isinstance(value, Unreadable):
        return None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _json_value(part) for key, part in value.items()}
    return [_json_value(part) for part in value] if isinstance(value, list | tuple) else str(value)


def _encodable(text: str) -> str:
    r"""Half a surrogate pair, which JSON can hold, as JSON writes it.

    >>> _encodable("a\ud800"), _encodable("é")
    ('a\\ud800', 'é')
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
