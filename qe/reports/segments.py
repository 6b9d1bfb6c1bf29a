"""Segments as a page shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ShownSegment:
    """facts, notes: name and value; words: the translation's, each with P(BAD), or nothing."""

    source: str | None
    target: str | None
    facts: Sequence[tuple[str, str]]
    notes: Sequence[tuple[str, str]] = ()
    words: Sequence[tuple[str, float]] = ()


def words_of(output: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The translation's words with P(BAD), of an output row with `tokens` and `bad`, or nothing.

    Lists, or text joined by blanks, as TSV and CSV have them.
    """
    tokens, bad = output.get("tokens"), output.get("bad")
    if isinstance(tokens, str) and isinstance(bad, str):
        tokens, bad = tokens.split(" "), [float(value) for value in bad.split()]
    if not isinstance(tokens, list) or not isinstance(bad, list) or len(tokens) != len(bad):
        return []
    return [(str(token), float(value)) for token, value in zip(tokens, bad, strict=True)]
