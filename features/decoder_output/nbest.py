"""Hypotheses: the column `nbest` of a batch, read and checked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from features.basics.errors import InputError
from features.core.segments import Segments

_LIMIT = 10**9  # words of a text
_KEYS = ("text", "score", "scores", "phrases", "search")


@dataclass(frozen=True)
class Hypothesis:
    """One translation considered by the decoder.

    score    of the whole model; NaN if unknown
    scores   model -> its unweighted numbers
    phrases  (first source word, last, first target word, last), inclusive, in the order of the target
    search   statistics of the search graph (`nodes`, `dead`, `recombined`, `transitions`)
    """

    text: str
    score: float = float("nan")
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    phrases: Sequence[Sequence[int]] = ()
    search: Mapping[str, Any] = field(default_factory=dict)


def hypotheses(segments: Segments) -> list[list[Hypothesis]]:
    """Hypotheses of each segment, best first; none if the entry is empty.

    An entry is a JSON list of texts, or of objects with the keys of `Hypothesis` (only `text` is needed).
    Raises InputError, naming the segment, for anything else.
    """
    column = segments.require("nbest")
    return [_entry(text, f"segment '{i}', nbest") for text, i in zip(column, segments.id, strict=True)]


def _entry(text: str, location: str) -> list[Hypothesis]:
    if not text.strip():
        return []
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", location=location) from None
    if not isinstance(entry, list):
        raise InputError(f"expected a list of hypotheses, found {type(entry).__name__}", location=location)
    return [_hypothesis(item, location) for item in entry]


def _hypothesis(item: Any, location: str) -> Hypothesis:
    if isinstance(item, str):
        return Hypothesis(item)
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise InputError(
            f"a hypothesis is a text or an object with `text`, found {item!r:.60}", location=location
        )
    unknown = sorted(set(item) - set(_KEYS))
    if unknown:
        raise InputError(f"unknown keys {unknown}", location=location, remedy=f"known: {', '.join(_KEYS)}")
    _check_scores(item, location)
    _check_phrases(item.get("phrases", []), location)
    _check_search(item.get("search", {}), location)
    return Hypothesis(**item)


def _check_scores(item: Mapping[str, Any], location: str) -> None:
    scores = item.get("scores", {})
    if not isinstance(scores, dict) or not all(isinstance(values, list) for values in scores.values()):
        raise InputError("`scores` must map names of models to lists of numbers", location=location)
    if not all(map(_is_number, [item.get("score", 0.0), *(v for values in scores.values() for v in values)])):
        raise InputError("scores must be finite numbers", location=location)


def _check_phrases(phrases: Any, location: str) -> None:
    if not isinstance(phrases, list):
        raise InputError(f"`phrases` must be a list, found {phrases!r:.60}", location=location)
    for phrase in phrases:
        whole = isinstance(phrase, list) and len(phrase) == 4 and all(type(v) is int for v in phrase)
        if not whole or not (
            0 <= phrase[0] <= phrase[1] < _LIMIT and 0 <= phrase[2] <= phrase[3] + 1 < _LIMIT
        ):
            raise InputError(
                f"a phrase is [first source word, last, first target word, last], found {phrase!r:.60}",
                location=location,
            )


def _check_search(search: Any, location: str) -> None:
    transitions = search.get("transitions", []) if isinstance(search, dict) else None
    counts = [v for k, v in search.items() if k != "transitions"] if isinstance(search, dict) else []
    if not isinstance(transitions, list) or not all(map(_is_number, [*transitions, *counts])):
        raise InputError(f"`search` must hold finite numbers, found {search!r:.60}", location=location)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= 1e300
