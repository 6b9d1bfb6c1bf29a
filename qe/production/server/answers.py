"""Answers: one JSON object each, errors too."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qe.production.server.quality import Quality

JSON = "application/json"
_LONGEST = 1000  # characters of a message: what a client sent is not sent back to it at any length


class Refused(Exception):
    """Why a request is not answered."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


@dataclass(frozen=True)
class Answer:
    """An answer to a client.

    `rows` is how many segments were asked for, `reason` why there is no answer, `quality` what it says of
    the translations.
    """

    status: int
    content: bytes
    kind: str = JSON
    headers: Mapping[str, str] | None = None
    rows: int | None = None
    reason: str = ""
    quality: Quality | None = None


def json_answer(
    content: Mapping[str, Any], status: int = 200, rows: int | None = None, quality: Quality | None = None
) -> Answer:
    """An object as JSON; raises ValueError for a number that JSON does not know."""
    return Answer(status, json_bytes(content), rows=rows, quality=quality)


def refusal(refused: Refused, request: str) -> Answer:
    """`error` says why, `request_id` which request of the log it was."""
    content = json_bytes({"error": shortened(refused.message, _LONGEST), "request_id": request})
    return Answer(refused.status, content, headers=refused.headers, reason=refused.message)


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """JSON in ASCII, so that half a surrogate pair in a message can be sent, too."""
    return json.dumps(content, allow_nan=False).encode("ascii")


def escaped(text: str, length: int) -> str:
    """At most so many characters in printable ASCII, the others as escapes; for one line of a log.

    >>> escaped("a\\n\u202e", 9), escaped("abcdef", 3)
    ('a\\\\n\\\\u202e', 'abc...')
    """
    shown = "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in text[:length])
    return shown if len(text) <= length else f"{shown}..."


def shortened(text: str, length: int) -> str:
    """At most so many characters, and an ellipsis where there were more.

    >>> shortened("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= length else f"{text[:length]}…"
