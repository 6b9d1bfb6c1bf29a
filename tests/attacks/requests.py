"""Requests that no honest client sends: mutations of bodies, headers, methods and addresses; as bytes."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.attacks.mutations import json_file, raw

# fmt: off
_METHODS = [
    "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW", "get", "P\xd6ST",
]
_PATHS = [
    "/invocations", "/health", "/ping", "/ready", "/version", "/metrics", "/openapi.json", "/docs",
    "/", "//", "*", "/../../etc/passwd", "/%2e%2e/", "/%00", "/%ff", "/invocations/", "/INVOCATIONS",
    "http://x/health", "/health?" + "a=1&" * 50, "/invocations?interval=0.9&explain=3",
    "/invocations?interval=nan", "/invocations?explain=" + "9" * 4400, "/invocations?triage=1",
    "/invocations?interval=%ff", "/" + "x" * 20_000,
]
_TYPES = [
    "application/json", "text/csv", "application/json; charset=utf-8", "text/csv; charset=latin-1",
    "application/x-python-pickle", "", "x", "application/vnd.apache.parquet", "multipart/form-data",
]
_HEADERS = [
    "X-Request-ID: mine", "X-Request-ID: " + "x" * 200, "X-Request-ID: a\tb", "Expect: 100-continue",
    "Expect: x", "Content-Encoding: gzip", "Connection: close", "Connection: Upgrade", "Upgrade: websocket",
    "Upgrade: h2c", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Content-Length: 5",
    "Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 1e3",
    "Host: x", "Host: \xff", "Cookie: " + "y" * 9000, "Accept: text/html", "Origin: http://x",
    "X: \x00", "X : y", ": y", " folded", "X: y\r\n folded",
]
_VALUES = [
    '""', "null", "NaN", "-Infinity", "1e999", "9" * 5000, '"\\ud800"', '"\\u0000"', '"\\x"', "[]", "{}",
    "[" * 500 + "]" * 500, "[" * 100_000 + "]" * 100_000, '{"a":' * 3000 + "1" + "}" * 3000,
    '{"source":"a","source":"b"}', '"' + "w " * 3000 + '"', '"\u202e\u0000\ufeff"', "true", "-0", "1.0",
]
# fmt: on


def hostile(records: Sequence[dict[str, str]], rng: random.Random) -> tuple[bytes, str]:
    """The bytes of a request, and what was done to it."""
    body, kind, done = _body(records, rng)
    honest = rng.random() < 0.5
    method = "POST" if honest else rng.choice(_METHODS)
    path = "/invocations" if honest else rng.choice(_PATHS)
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}"]
    if rng.random() < 0.9:
        lines.append(
            f"Content-Length: {len(body) if rng.random() < 0.9 else rng.choice([0, 1, len(body) + 50])}"
        )
    elif rng.random() < 0.8:
        lines.append("Transfer-Encoding: chunked")
        body = _chunked(body, rng)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        lines.insert(rng.randrange(1, len(lines) + 1), rng.choice(_HEADERS))
    sent = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
    if rng.random() < 0.2:
        sent, how = raw(sent, rng)
        done += f", request {how}"
    return sent, f"{method} {path[:60]} ({done})"


def _body(records: Sequence[dict[str, str]], rng: random.Random) -> tuple[bytes, str, str]:
    """(body, Content-Type, what was done)"""
    rows = [dict(rng.choice(records)) for _ in range(rng.choice([0, 1, 1, 2, 5]))]
    makers: list[Callable[[Any], Any]] = [_json_of, _spliced, _csv_of, _json_of]
    content, kind, done = rng.choice(makers)((rows, rng))
    if rng.random() < 0.25:
        content, how = raw(content, rng)
        done += f", {how}"
    if rng.random() < 0.1:
        kind = rng.choice(_TYPES)
    return content, kind, done


def _content(rows: list[dict[str, str]], rng: random.Random) -> dict[str, Any]:
    columns = list(rows[0]) if rows else ["source", "target"]
    forms: dict[str, Any] = {
        "dataframe_records": rows,
        "instances": rows,
        "dataframe_split": {"columns": columns, "data": [[row.get(c) for c in columns] for row in rows]},
        "inputs": {c: [row.get(c) for row in rows] for c in columns},
    }
    form = rng.choice(list(forms))
    params = {"interval": 0.9, "explain": 2} if rng.random() < 0.3 else {}
    return {form: forms[form], "params": params}


def _json_of(given: tuple[list[dict[str, str]], random.Random]) -> tuple[bytes, str, str]:
    rows, rng = given
    content = json.dumps(_content(rows, rng)).encode()
    if rng.random() < 0.7:
        content, done = json_file(content, rng)
        return content, "application/json", done
    return content, "application/json", "as it was"


def _spliced(given: tuple[list[dict[str, str]], random.Random]) -> tuple[bytes, str, str]:
    """JSON with a value in it that no library would write."""
    rows, rng = given
    marked = [{**row, rng.choice(["source", "target", "id", "x"]): "@@"} for row in rows]
    text, value = json.dumps(_content(marked, rng)), rng.choice(_VALUES)
    return text.replace('"@@"', value).encode("utf-8"), "application/json", f"value {value[:20]}"


def _csv_of(given: tuple[list[dict[str, str]], random.Random]) -> tuple[bytes, str, str]:
    rows, rng = given
    header = rng.choice(
        ["source,target", "target,source", "source", "source,source", "", '"source,target', "a,b"]
    )
    lines = [header, *(f'"{row["source"]}","{row["target"]}"' for row in rows)]
    end = rng.choice(["\n", "\r\n", "\r", "\n\n", "\x00"])
    return end.join(lines).encode("utf-8"), "text/csv", f"csv {header}"


def _chunked(body: bytes, rng: random.Random) -> bytes:
    size = rng.choice([1, 7, 100, max(1, len(body))])
    parts = [body[at : at + size] for at in range(0, min(len(body), 200 * size), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + rng.choice(
        [b"0\r\n\r\n", b"", b"zz\r\n"]
    )
