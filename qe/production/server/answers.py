"""Limits of requests, and answers: one JSON object each, errors too."""

import collections
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from features.basics.errors import InputError
from qe.models.drift import Counts
from qe.models.guard.guard import MARKED

JSON = "application/json"
KINDS = ("empty", "too long", "unreadable", "no route")  # of reasons why a row has no score
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
class Quality:
    """Counts of the rows of an answer; `looks` are drift counts, if the model has a profile."""

    scores: Sequence[float] = ()
    unscored: Mapping[str, int] = field(default_factory=dict)
    outside: int = 0
    actions: Mapping[str, int] = field(default_factory=dict)
    looks: Counts | None = None

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], looks: Counts | None = None) -> "Quality":
        return cls(
            [row["score"] for row in rows if row["score"] is not None],
            collections.Counter(kind_of(row["reason"]) for row in rows if row["score"] is None),
            sum((row.get("outside") or 0) >= MARKED for row in rows),
            collections.Counter(row["action"] for row in rows if row.get("action")),
            looks,
        )


def kind_of(reason: str) -> str:
    if reason.startswith("no route "):
        return "no route"
    if reason.startswith(("empty ", "no ")):
        return "empty"
    return "too long" if "but a text has at most" in reason else "unreadable"


@dataclass(frozen=True)
class Answer:
    """An answer to a client, with the segments of the request, and the reason of a refusal."""

    status: int
    content: bytes
    kind: str = JSON
    headers: Mapping[str, str] | None = None
    rows: int | None = None
    reason: str = ""
    quality: Quality | None = None


def json_answer(
    content: Mapping[str, Any], rows: int | None = None, quality: Quality | None = None
) -> Answer:
    """An object as JSON; raises ValueError for a number that JSON does not have."""
    return Answer(200, json_bytes(content), rows=rows, quality=quality)


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
