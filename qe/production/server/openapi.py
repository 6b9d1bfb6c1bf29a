"""OpenAPI: a document of the server's answers, and a page of it.

The page loads nothing from elsewhere.
"""

from collections.abc import Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from features.basics.packages import version
from qe.production.server.extras import Extras
from qe.production.server.limits import Limits

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_ERROR = {"$ref": "#/components/schemas/Error"}


def document(about: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The OpenAPI (3.1) description of a server with that model."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"qe serve: {about['model']}",
            "version": version(),
            "description": "Quality estimation of translations: a score for each segment, without reference.",
        },
        "paths": {
            "/invocations": {"post": _invocations(about["columns"], limits)},
            "/health": {"get": _get("Whether the process answers", {"status": "alive"})},
            "/ping": {"get": _get("The same, as MLflow names it", {"status": "alive"})},
            "/ready": {
                "get": _get(
                    "Whether the model is loaded", {"status": "ready", "model": about["model"]}, unready=True
                )
            },
            "/version": {"get": _get("Which model answers", dict(about), unready=True)},
            "/metrics": {"get": _text("Metrics for Prometheus", "text/plain")},
            "/openapi.json": {"get": _get("This description", None, unready=True)},
            "/docs": {"get": _text("This page", "text/html", unready=True)},
        },
        "components": {"schemas": _schemas(about["columns"], limits)},
    }


def page(content: Mapping[str, Any]) -> str:
    """The document as HTML, all of it escaped; no script, and nothing from another address."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("qe.production.server", "."), PackageLoader("qe.display", ".")]),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html").render(api=content, policy=POLICY)


def _invocations(columns: list[str], limits: Limits) -> dict[str, Any]:
    records = [{name: f"a {name}" for name in columns}]
    responses = {
        "200": _answer(
            "A prediction for each segment, in order",
            {"$ref": "#/components/schemas/Predictions"},
            {"predictions": [{"score": 3.2, "reason": ""}, {"score": None, "reason": "empty target"}]},
        )
    }
    failures = {
        "400": "The body is not of the kind that its Content-Type says",
        "408": f"The body was not sent within {limits.seconds} s",
        "413": f"The body is larger than {limits.bytes:,} bytes",
        "415": "Neither JSON nor CSV",
        "422": "No such rows, too many of them, or an unknown parameter",
        "503": "Too many requests are being scored, or the model is not loaded",
        "504": f"The answer took longer than {limits.seconds} s",
    }
    schema = {"$ref": "#/components/schemas/Request"}
    example = {"dataframe_records": records, "params": {"interval": 0.9}}
    return {
        "summary": "Scores segments",
        "description": f"Up to {limits.rows:,} segments at once. The parameters may also stand in the body, "
        "as `params`.",
        "parameters": [
            {"name": name, "in": "query", "schema": shape, "description": shape["description"]}
            for name, shape in Extras.model_json_schema()["properties"].items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema, "example": example},
                "text/csv": {"schema": {"type": "string"}, "example": _csv(columns)},
            },
        },
        "responses": {
            **responses,
            **{status: _answer(text, _ERROR) for status, text in failures.items()},
        },
    }


def _csv(columns: list[str]) -> str:
    return ",".join(columns) + "\n" + ",".join(f'"a {name}"' for name in columns) + "\n"


def _get(summary: str, example: Any, *, unready: bool = False) -> dict[str, Any]:
    responses = {"200": _answer(summary, {"type": "object"}, example)}
    return {"summary": summary, "responses": responses | _unready(unready)}


def _text(summary: str, kind: str, *, unready: bool = False) -> dict[str, Any]:
    answer = {"description": summary, "content": {kind: {"schema": {"type": "string"}}}}
    return {"summary": summary, "responses": {"200": answer} | _unready(unready)}


def _unready(unready: bool) -> dict[str, Any]:
    return {"503": _answer("The model is being loaded, or the server is stopping", _ERROR)} if unready else {}


def _answer(description: str, schema: Mapping[str, Any], example: Any = None) -> dict[str, Any]:
    content = {"schema": dict(schema)} | ({} if example is None else {"example": example})
    return {"description": description, "content": {"application/json": content}}


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
    return {
        "Request": {
            "type": "object",
            "description": f"One of {', '.join(forms)}, and params if you like",
            "properties": {**forms, "params": {"$ref": "#/components/schemas/Params"}},
        },
        "Params": {**Extras.model_json_schema(), "title": "Params"},
        "Predictions": {
            "type": "object",
            "properties": {
                "predictions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {**prediction, "reason": {"type": "string"}},
                        "required": ["score", "reason"],
                    },
                }
            },
            "required": ["predictions"],
        },
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}, "request_id": {"type": "string"}},
            "required": ["error"],
        },
    }
