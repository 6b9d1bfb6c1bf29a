"""The body of a request as rows, which are counted before they are used, and the requested extras.

The protocol is that of MLflow's scoring server: a JSON object with `dataframe_records`, `dataframe_split`,
`instances` or `inputs` (and `params`), or CSV with a header.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import parse_qsl

from pydantic import Field

from features.basics.errors import InputError, quoted
from qe.config.schema import Section, validated
from qe.data.table_rows import Row, rows_of
from qe.production.server.answers import Limits, Refused

Kind = Literal["json", "csv"]
_Columns = Collection[str]
KINDS: Mapping[str, Kind] = {"application/json": "json", "text/csv": "csv"}
# Linear in any input: what opens a string takes all that follows, closed or not.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


@dataclass(frozen=True)
class Parsed:
    columns: _Columns
    rows: list[Row]
    params: dict[str, Any] = field(default_factory=dict)

    def needed(self, names: Sequence[str], optional: Collection[str] = ()) -> list[Row]:
        """The rows with these columns and the optional ones that there are.

        Raises Refused (422) if one is missing, or holds no text.
        """
        absent = [name for name in names if name not in self.columns]
        if absent and self.rows:
            there = ", ".join(sorted(self.columns)) or "none"
            raise Refused(422, f"the model needs the column '{absent[0]}'; the input has {there}")
        read = dict.fromkeys((*names, *(name for name in optional if name in self.columns)))
        kept = [({name: row.get(name) for name in read}, reason) for row, reason in self.rows]
        for number, (row, _) in enumerate(kept, 1):
            for name, value in row.items():
                if isinstance(value, str) and not _is_text(value):
                    raise Refused(
                        422, f"row {number}: '{name}' holds half of a surrogate pair, which is no text"
                    )
        return kept


def kind_of(content_type: str | None) -> Kind:
    """The kind of body that a Content-Type names; raises Refused (415) for others."""
    name, *parameters = [part.strip().lower() for part in (content_type or "").split(";")]
    if name not in KINDS:
        raise Refused(415, f"name the Content-Type: {', '.join(KINDS)}")
    if any(parameter not in ("", "charset=utf-8", 'charset="utf-8"') for parameter in parameters):
        raise Refused(415, "the Content-Type may say charset=utf-8 and no other parameter")
    return KINDS[name]


def parse(body: bytes, kind: Kind, limits: Limits) -> Parsed:
    """The rows of a body.

    Raises Refused: 400 for what is not of its kind, 422 for other contents.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(400, f"the body is not UTF-8 (byte {error.start})") from None
    if kind == "csv":
        return Parsed(*_csv(text, limits))
    _check_values(body, limits)
    form, value, params = _form(_loaded(text))
    return Parsed(*_FORMS[form](value, form, limits), params)


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _csv(text: str, limits: Limits) -> tuple[_Columns, list[Row]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records = []
    try:
        header = next(reader, [])
        _check_columns(header, limits)
        for record in reader:
            records.append(record)
            _check_rows(len(records), limits)
    except csv.Error as error:
        raise Refused(400, f"not valid CSV (line {reader.line_num}: {error})") from None
    return header, list(rows_of(header, records))


def _check_values(body: bytes, limits: Limits) -> None:
    if _values(body) > limits.values and _values(_STRING.sub(b"", body)) > limits.values:
        raise Refused(422, f"more than {limits.values:,} JSON values; send fewer rows at once")


def _values(body: bytes) -> int:
    return sum(body.count(mark) for mark in (b",", b"[", b"{"))


def _loaded(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise Refused(400, "the JSON is nested too deeply") from None
    except ValueError as error:  # not JSON, or an integer of more digits than Python reads
        raise Refused(400, f"not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise Refused(400, f"the body must be one JSON object, with one of {', '.join(_FORMS)}")
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Refused(400, "not valid JSON (an object names a key twice)")
    return made


def _no_number(name: str) -> NoReturn:
    raise Refused(400, f"not valid JSON ({name} is no number of JSON)")


def _form(content: dict[str, Any]) -> tuple[str, Any, dict[str, Any]]:
    forms = [name for name in content if name in _FORMS]
    unknown = [name for name in content if name not in _FORMS and name != "params"]
    if len(forms) != 1 or unknown:
        named = f"; it has {', '.join(map(repr, unknown or forms))}" if content else ""
        raise Refused(
            400, f"the JSON object must have one of {', '.join(_FORMS)}, and may have params{named}"
        )
    params = content.get("params")
    if not isinstance(params, dict | None):
        raise Refused(422, "params must be a JSON object")
    return forms[0], content[forms[0]], params or {}


def _records(value: Any, name: str, limits: Limits) -> tuple[_Columns, list[Row]]:
    rows, columns = _list(value, name, limits), dict[str, None]()
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise Refused(422, f"row {number} of {name} is no JSON object")
        columns.update(dict.fromkeys(row))
        _check_columns(columns, limits)
    return columns, [(row, "") for row in rows]


def _split(value: Any, name: str, limits: Limits) -> tuple[_Columns, list[Row]]:
    if not isinstance(value, dict) or not {"columns", "data"} <= set(value) <= {"columns", "data", "index"}:
        raise Refused(422, f"{name} must be a JSON object with columns and data")
    columns, rows = value["columns"], _list(value["data"], "data", limits)
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise Refused(422, "columns must be a list of names")
    _check_columns(columns, limits)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list):
            raise Refused(422, f"row {number} of data is no list")
    return columns, list(rows_of(columns, rows))


def _inputs(value: Any, name: str, limits: Limits) -> tuple[_Columns, list[Row]]:
    if not isinstance(value, dict):
        raise Refused(422, f"{name} must be a JSON object: column to list of values")
    _check_columns(value, limits)
    lists = [_list(values, column, limits) for column, values in value.items()]
    if len({len(values) for values in lists}) > 1:
        raise Refused(422, f"the lists of {name} differ in length")
    return value, [(dict(zip(value, row, strict=True)), "") for row in zip(*lists, strict=True)]


_FORMS: Mapping[str, Callable[[Any, str, Limits], tuple[_Columns, list[Row]]]] = {
    "dataframe_records": _records,
    "dataframe_split": _split,
    "instances": _records,
    "inputs": _inputs,
}


def _list(value: Any, name: str, limits: Limits) -> list[Any]:
    if not isinstance(value, list):
        raise Refused(422, f"{name} must be a list")
    _check_rows(len(value), limits)
    return value


def _check_rows(rows: int, limits: Limits) -> None:
    if rows > limits.rows:
        raise Refused(422, f"{rows} rows, but at most {limits.rows} are answered at once")


def _check_columns(columns: _Columns, limits: Limits) -> None:
    if len(columns) > limits.keys:
        raise Refused(422, f"{len(columns)} columns, but at most {limits.keys} are read")
    if len(set(columns)) < len(columns):
        raise Refused(422, "a column is named twice")


class Extras(Section):
    """`params` of a JSON body, or parameters of the address."""

    interval: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Answer with low and high, which hold this share of true labels.",
    )
    explain: int = Field(
        default=0,
        ge=0,
        le=100,
        description="Answer with `because`: so many causes that moved the score most.",
    )
    triage: bool = Field(
        default=False,
        description="Answer with `action`: publish, post-edit or retranslate (`qe serve --triage`).",
    )


# Each extra has: what it must be, its form as text in the address, the types of its values in JSON.
_FORMS_OF_EXTRAS: Mapping[str, tuple[str, str, tuple[type, ...]]] = {
    "interval": (
        "a number", r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf)", (int, float, type(None)),
    ),
    "explain": ("a whole number", r"[-+]?\d+", (int,)),
    "triage": ("true or false", "true|false|1|0", (bool,)),
}  # fmt: skip


def _check_form(name: str, value: Any) -> None:
    if name not in _FORMS_OF_EXTRAS:
        return
    noun, form, types = _FORMS_OF_EXTRAS[name]
    fits = re.fullmatch(form, value, re.ASCII) if isinstance(value, str) else type(value) in types
    if not fits:
        raise Refused(400, f"'{name}' must be {noun}, but is {quoted(str(value))}")


def requested_extras(query: bytes, params: Mapping[str, Any], defaults: Extras) -> Extras:
    """The extras of the address and the body, over the defaults.

    Raises Refused: 400 for values of another form, 422 for unknown or repeated names and values out of range.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except (ValueError, UnicodeDecodeError):
        raise Refused(422, "the parameters of the address cannot be read") from None
    for name, value in [*pairs, *params.items()]:
        _check_form(name, value)
    names = [name for name, _ in pairs] + list(params)
    if len(set(names)) < len(names):
        raise Refused(422, "a parameter is given twice")
    try:
        return validated(Extras, {**defaults.model_dump(), **dict(pairs), **params}, Path("params"))
    except InputError as error:
        raise Refused(422, str(error)) from None
