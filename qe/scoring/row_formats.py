"""Tables of translations: headers of columns, types of output columns, and the columns that stay."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from features.basics.assignments import assignments
from features.basics.errors import InputError, did_you_mean, known_name
from features.core.extractor import TableColumns
from qe.data.headers import header_of, known_headers, named_header
from qe.data.reading import with_points
from qe.data.table_rows import NUMBER, Kind, Row, Types, Unreadable, unusable_id


def name_pairs(
    texts: Iterable[str], location: object, key: str = "NAME", value: str = "HEADER"
) -> dict[str, str]:
    """`NAME=HEADER,...` as NAME -> HEADER; without a header, an empty one."""
    pairs = (pair for text in texts for pair in text.split(","))
    return assignments(pairs, f"{key}={value}", location, empty=True)


def added_headers(
    names: Iterable[str], existing: Collection[str], suffix: str, location: object
) -> dict[str, str]:
    headers = {name: name + suffix for name in names}
    for header in headers.values():
        if header in existing:
            problem = f"has a column '{header}' already, and scoring adds one of that name"
            remedy = "rename it, or name ours otherwise: --suffix _qe"
            raise InputError(problem, location=location, remedy=remedy)
    return headers


@dataclass(frozen=True)
class Needs:
    """The columns that a reader takes from tables, by its own names.

    columns        those that every row must have
    reader         its name, in messages
    headers        name -> header in the training data
    table_columns  those that features read by name; the input may lack optional ones
    """

    columns: Sequence[str]
    reader: str
    headers: Mapping[str, str] = field(default_factory=dict)
    table_columns: TableColumns = field(default_factory=dict)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.columns, *self.table_columns)))

    @classmethod
    def joined(cls, parts: Sequence["Needs"], reader: str, further: Sequence[str] = ()) -> Self:
        """Needs of several readers together; the first counts where their headers differ."""
        columns = dict.fromkeys(name for part in parts for name in part.columns)
        headers = {name: header for part in reversed(parts) for name, header in part.headers.items()}
        named = {name: column for part in parts for name, column in part.table_columns.items()}
        return cls(tuple(columns | dict.fromkeys(further)), reader, headers, named)


@dataclass(frozen=True)
class Names:
    """Headers of columns in an input, by the model's names; a name without a header is its own.

    `decimal` is the sign of numbers in the input; None: a comma if it cannot separate thousands. `numbers`
    are the model's names of columns that hold numbers.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None
    numbers: Collection[str] = (NUMBER,)

    def header(self, name: str) -> str:
        return self.headers.get(name, name)

    def for_table(
        self, needs: Needs, headers: Sequence[str], declared: Sequence[str] | None, location: object
    ) -> "Names":
        """The headers of a table; `declared` are those of all its rows, or None if they differ.

        Raises InputError for names that no model column has, and for headers that the input lacks.
        """
        names = self.completed(needs, headers, location)
        known = tuple(dict.fromkeys((*needs.all, "id")))
        for name, header in names.headers.items():
            known_name("column", name, known, location="--columns")
            if not header:
                raise InputError(f"'{name}' is given no header", location="--columns")
        for name in () if declared is None else (*needs.columns, *names.headers):
            header = names.header(name)
            if declared is None or header in declared:
                continue
            noun = "header" if name in names.headers else "column"
            others = [h for h in map(names.header, needs.columns) if h not in (header, *declared)]
            problem = f"{needs.reader} needs the {noun} '{header}'"
            problem += "".join(f", and '{other}'" for other in others)
            has = f"the input has {', '.join(declared)}{did_you_mean(header, declared)}"
            if name in needs.table_columns:
                has += "; --missing-columns impute scores without it"
            raise InputError(
                problem if name in needs.columns else f"there is no column '{header}'",
                location=location,
                remedy=f"{has}; --columns {name}=HEADER names another",
            )
        return names

    def completed(self, needs: Needs, headers: Sequence[str], location: object) -> "Names":
        """Add headers for names that the user has not given: those of the training data, or usual ones."""
        found = dict(self.headers)
        for name in (*needs.all, "id"):
            if name in found or name in headers:
                continue
            header = needs.headers.get(
                name, named_header(name, headers) if name in needs.table_columns else ""
            )
            if header not in headers:
                several = name == "id" and len(known_headers(name, headers, found.values())) > 1
                header = "" if several else header_of(name, headers, location, assigned=found.values())
            if header:
                found[name] = header
        numbers = (NUMBER, *(name for name, column in needs.table_columns.items() if column.number))
        return replace(self, headers=found, numbers=numbers)

    def notes(self, options: "Names") -> tuple[str, ...]:
        """A phrase about headers that are not among the user's options, or none."""
        found = [f"{name} = {header}" for name, header in self.headers.items() if name not in options.headers]
        return (", ".join(found),) if found else ()

    def absent(self, table_columns: TableColumns, headers: Sequence[str]) -> tuple[str, ...]:
        """A note on the columns that features read by name and the input lacks, or none."""
        lacking = [name for name in table_columns if self.header(name) not in headers]
        return (f"no column {', '.join(lacking)}: its values are imputed",) if lacking else ()

    def view(self, row: Row) -> Row:
        """The row by the model's names; its other columns stay."""
        if not self.headers and row[0].keys().isdisjoint(self.numbers):
            return row
        columns, reason = row
        named = {name: columns[header] for name, header in self.headers.items() if header in columns}
        view = {name: value for name, value in columns.items() if name not in self.headers} | named
        for name in self.numbers:
            number = view.get(name)
            if isinstance(number, str) and "," in number:
                view[name] = with_points([number], self.decimal)[0]
        return view, reason or unusable_id(view)


NUMBERS = frozenset({"score", "low", "high", "outside"})  # output columns; the others are text
_SPAN = {"start": "int64", "end": "int64", "text": "string", "mass": "double", "edits": "double"}
_NUMBERS, _TEXTS = pa.list_(pa.float64()), pa.list_(pa.string())
# Output columns with a list in every row.
LISTS: Mapping[str, pa.DataType] = {
    "spans": pa.list_(pa.struct([(name, pa.type_for_alias(kind)) for name, kind in _SPAN.items()])),
    **dict.fromkeys(("bad", "gaps", "source_bad"), _NUMBERS),
    **dict.fromkeys(("tokens", "tags", "gap_tags", "source_tokens", "source_tags"), _TEXTS),
}
PROBABILITIES = ("tokens", "bad", "gaps")  # the lists that every model with a word-level part gives


def types_of(headers: Mapping[str, str]) -> dict[str, pa.DataType]:
    return {h: pa.float64() if c in NUMBERS else LISTS.get(c, pa.string()) for c, h in headers.items()}


@dataclass(frozen=True)
class KeptColumns:
    """Columns that a table keeps from its input (with their types), and the added columns behind them.

    Text stays unchanged, except that TSV cannot hold tabs and line ends (they become spaces). Other values
    are written to TSV and CSV as JSON, dates as ISO 8601; JSON has null for NaN, and "inf" for infinity.
    """

    types: Types
    added: Mapping[str, str]
    kind: Kind

    @classmethod
    def make(
        cls, types: Types, added: Sequence[str], kind: Kind, id_header: str, location: Path, suffix: str = ""
    ) -> Self:
        new = [name for name in added if name != "id" or id_header not in types]
        headers = added_headers(new, types, suffix, location)
        remedy = "write Parquet (from Parquet) or JSONL (from JSONL), or leave out --keep"
        if kind == "jsonl":
            remedy = "write Parquet, or leave out --keep"
        for name, type_ in types.items():
            if kind != "jsonl" and _encodable(name) != name:
                problem = f"has a column {name!a}, which is no Unicode text"
                raise InputError(problem, location=location, remedy=remedy)
            if kind != "parquet" and "binary" in str(type_):
                problem = f"the column '{name}' holds bytes ({type_})"
                raise InputError(problem, location=location, remedy=remedy)
        return cls(types, headers, kind)

    @property
    def column_types(self) -> Types:
        return {**self.types, **types_of(self.added)}

    def merged(self, row: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
        if self.kind == "jsonl":
            stays = {name: _json_value(value) for name, value in row.items()}
        else:
            stays = dict.fromkeys(self.types)
            for name, value in row.items():
                is_typed = self.kind == "parquet" and self.types[name] != pa.string()
                stays[name] = value if is_typed else _as_text(value)
        new = {header: output[name] for name, header in self.added.items() if header not in row}
        return {**stays, **new}


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
    r"""Half a surrogate pair, which JSON can hold, as JSON writes it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
