"""What requests may hold and how answers look: rows, extras, limits, and their description by OpenAPI.

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
from features.basics.plugins import version
from qe.config.schema import Section, validated
from qe.data.table_rows import Row, row_of
from qe.models.drift import Counts

JSON = "application/json"
_MAX_MESSAGE = 1000  # characters: what a client sent is not sent back to it at any length


@dataclass(frozen=True)
class Limits:
    """What one request may contain, and how many may be worked on at a time.

    bytes        of the body; more: 413
    rows         segments; more: 422
    keys         distinct columns; more: 422
    seconds      to send the body (408), to answer (504), and to take the answer (the connection is closed)
    busy         requests that are being scored, those given up on included; more: 503
    connections  open at a time: one more takes the place of the one that has waited longest for a request,
                 or is answered 503 if none waits
    headers      seconds to send the first line and the headers; longer: 408
    idle         seconds until a connection without a request is closed
    """

    bytes: int = 8 << 20
    rows: int = 5000
    seconds: int = 60
    busy: int = 4
    connections: int = 400
    keys: int = 32
    headers: int = 10
    idle: int = 10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise InputError(f"the limit of {name} must be at least 1, but got {value}")

    @property
    def values(self) -> int:
        return self.rows * (self.keys + 1) + 100

    @property
    def bodies(self) -> int:
        return self.busy * self.bytes


class Refused(Exception):
    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


@dataclass(frozen=True)
class Answer:
    """An answer to a client: its predictions, with counts of drift if there is a profile, or a refusal."""

    status: int
    content: bytes
    kind: str = JSON
    headers: Mapping[str, str] | None = None
    reason: str = ""
    predictions: Sequence[Mapping[str, Any]] | None = None
    counts: Counts | None = None


def json_answer(content: Mapping[str, Any]) -> Answer:
    """An object as JSON; raises ValueError for a number that JSON does not have."""
    return Answer(200, json_bytes(content))


def refusal(refused: Refused, request: str) -> Answer:
    content = json_bytes({"error": shortened(refused.message, _MAX_MESSAGE), "request_id": request})
    return Answer(refused.status, content, headers=refused.headers, reason=refused.message)


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """JSON in ASCII, so that half a surrogate pair in a message can be sent, too."""
    return json.dumps(content, allow_nan=False).encode("ascii")


def escaped(text: str, length: int) -> str:
    """At most `length` characters in printable ASCII, the others as escapes; for one line of a log."""
    shown = "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in text[:length])
    return shown if len(text) <= length else f"{shown}..."


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


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
                try:
                    value.encode("utf-8") if isinstance(value, str) else None
                except UnicodeEncodeError:
                    problem = f"row {number}: '{name}' holds half of a surrogate pair, which is no text"
                    raise Refused(422, problem) from None
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
    if _values(body) > limits.values and _values(_STRING.sub(b"", body)) > limits.values:
        raise Refused(422, f"more than {limits.values:,} JSON values; send fewer rows at once")
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise Refused(400, "the JSON is nested too deeply") from None
    except ValueError as error:  # not JSON, or an integer of more digits than Python reads
        raise Refused(400, f"not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise Refused(400, f"the body must be one JSON object, with one of {', '.join(_FORMS)}")
    form, value, params = _form(content)
    return Parsed(*_FORMS[form](value, form, limits), params)


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
    return header, [row_of(header, fields) for fields in records]


def _values(body: bytes) -> int:
    return sum(body.count(mark) for mark in (b",", b"[", b"{"))


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
    return columns, [row_of(columns, row) for row in rows]


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


def requested_extras(query: bytes, params: Mapping[str, Any], defaults: Extras) -> Extras:
    """The extras of the address and the body, over the defaults.

    Raises Refused: 400 for values of another form, 422 for unknown or repeated names and values out of range.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except (ValueError, UnicodeDecodeError):
        raise Refused(422, "the parameters of the address cannot be read") from None
    for name, value in [*pairs, *params.items()]:
        if name not in _FORMS_OF_EXTRAS:
            continue
        noun, form, types = _FORMS_OF_EXTRAS[name]
        fits = re.fullmatch(form, value, re.ASCII) if isinstance(value, str) else type(value) in types
        if not fits:
            raise Refused(400, f"'{name}' must be {noun}, but is {quoted(str(value))}")
    names = [name for name, _ in pairs] + list(params)
    if len(set(names)) < len(names):
        raise Refused(422, "a parameter is given twice")
    try:
        return validated(Extras, {**defaults.model_dump(), **dict(pairs), **params}, Path("params"))
    except InputError as error:
        raise Refused(422, str(error)) from None


POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_ERROR = {"$ref": "#/components/schemas/Error"}
_UNREADY = {"503": "The model is being loaded, or the server is stopping"}


def openapi_document(about: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    columns, ready = about["columns"], {"status": "ready", "model": about["model"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"qe serve: {about['model']}",
            "version": version(),
            "description": "Quality estimation of translations: a score for each segment, without reference.",
        },
        "paths": {
            "/invocations": {"post": _invocations(columns, limits)},
            "/health": _get("Whether the process answers", {"status": "alive"}),
            "/ping": _get("The same, as MLflow names it", {"status": "alive"}),
            "/ready": _get("Whether the model is loaded", ready, failures=_UNREADY),
            "/version": _get("Which model answers", dict(about), failures=_UNREADY),
            "/metrics": _get("Metrics for Prometheus", kind="text/plain"),
            "/openapi.json": _get("This description", failures=_UNREADY),
            "/docs": _get("This page", kind="text/html", failures=_UNREADY),
        },
        "components": {"schemas": _schemas(columns, limits)},
    }


def _invocations(columns: list[str], limits: Limits) -> dict[str, Any]:
    predictions = {"predictions": [{"score": 3.2, "reason": ""}, {"score": None, "reason": "empty target"}]}
    failures = {
        "400": "The body is not of the kind that its Content-Type says",
        "408": f"The body was not sent within {limits.seconds} s",
        "413": f"The body is larger than {limits.bytes:,} bytes",
        "415": "Neither JSON nor CSV",
        "422": "No such rows, too many of them, or an unknown parameter",
        "503": "Too many requests are being scored, or the model is not loaded",
        "504": f"The answer took longer than {limits.seconds} s",
    }
    record = {name: f"a {name}" for name in columns}
    lines = ",".join(columns), ",".join(f'"{value}"' for value in record.values())
    bodies = {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/Request"},
            "example": {"dataframe_records": [record], "params": {"interval": 0.9}},
        },
        "text/csv": {"schema": {"type": "string"}, "example": "".join(f"{line}\n" for line in lines)},
    }
    answer = _content("application/json", {"$ref": "#/components/schemas/Predictions"}, predictions)
    return {
        "summary": "Scores segments",
        "description": f"Up to {limits.rows:,} segments at once. The parameters may also be in the body, "
        "as `params`.",
        "parameters": [
            {"name": name, "in": "query", "schema": shape, "description": shape["description"]}
            for name, shape in Extras.model_json_schema()["properties"].items()
        ],
        "requestBody": {"required": True, "content": bodies},
        "responses": {
            "200": {"description": "A prediction for each segment, in order", **answer},
            **_failures(failures),
        },
    }


def _get(
    summary: str, example: Any = None, *, kind: str = "application/json",
    failures: Mapping[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    schema = {"type": "object" if kind == "application/json" else "string"}
    answer = {"description": summary, **_content(kind, schema, example)}
    return {"get": {"summary": summary, "responses": {"200": answer, **_failures(failures or {})}}}


def _failures(failures: Mapping[str, str]) -> dict[str, Any]:
    content = _content("application/json", _ERROR)
    return {status: {"description": text, **content} for status, text in failures.items()}


def _content(kind: str, schema: Mapping[str, Any], example: Any = None) -> dict[str, Any]:
    described = {"schema": dict(schema)} | ({} if example is None else {"example": example})
    return {"content": {kind: described}}


def _schemas(columns: list[str], limits: Limits) -> dict[str, Any]:
    text = {"type": ["string", "null"]}
    record = {"type": "object", "properties": dict.fromkeys(columns, text), "required": list(columns)}
    records = {"type": "array", "items": record, "maxItems": limits.rows}
    split = {
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}, "maxItems": limits.keys},
            "data": {"type": "array", "items": {"type": "array"}, "maxItems": limits.rows},
        },
        "required": ["columns", "data"],
    }
    lists = {"type": "object", "additionalProperties": {"type": "array", "maxItems": limits.rows}}
    forms = {"dataframe_records": records, "instances": records, "dataframe_split": split, "inputs": lists}
    number = {"type": ["number", "null"]}
    prediction = {
        "score": number, "low": number, "high": number, "because": text, "action": text, "outside": number,
        "unlike": text,
    }  # fmt: skip
    properties = {**prediction, "reason": {"type": "string"}}
    row = {"type": "object", "properties": properties, "required": ["score", "reason"]}
    return {
        "Request": {
            "type": "object",
            "description": f"One of {', '.join(forms)}, and params if you like",
            "properties": {**forms, "params": {"$ref": "#/components/schemas/Params"}},
        },
        "Params": {**Extras.model_json_schema(), "title": "Params"},
        "Predictions": {
            "type": "object",
            "properties": {"predictions": {"type": "array", "items": row}},
            "required": ["predictions"],
        },
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}, "request_id": {"type": "string"}},
            "required": ["error"],
        },
    }
