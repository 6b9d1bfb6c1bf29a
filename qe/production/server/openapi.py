"""OpenAPI: a document of the server's answers, and a page of it that loads nothing from elsewhere."""

from collections.abc import Mapping
from typing import Any

from features.basics.plugins import version
from qe.display.page import render
from qe.production.server.answers import Limits
from qe.production.server.parsing import Extras

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_ERROR = {"$ref": "#/components/schemas/Error"}
_UNREADY = {"503": "The model is being loaded, or the server is stopping"}


def document(about: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
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


def page(content: Mapping[str, Any]) -> str:
    """The document as HTML, all of it escaped; no script, and nothing from another address."""
    return render("qe.production.server", "page.html", {}, api=content, policy=POLICY)


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
