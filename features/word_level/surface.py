"""Surface columns: what the letters of a word say."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.distinct import distinct
from features.core.segments import Segments
from features.text.tokens import Tokens
from features.word_level.columns import Columns, places, prefixed, spread, values_at
from features.word_level.links import TokenLinks

_OF_WORD: dict[str, Callable[[str], float]] = {
    "length": len,
    "punctuation": lambda word: not any(c.isalnum() for c in word),
    "digit": lambda word: any(c.isdigit() for c in word),
    "capital": lambda word: word[:1].isupper(),
}
# Properties of the text rather than of the word.
PLACES = ("place", "place_from_end", "target_tokens", "source_tokens", "tokens_ratio")


def surface_columns(segments: Segments, links: TokenLinks) -> Columns:
    source, target = segments.source_tokens, segments.target_tokens
    own, other = _words(target), _words(source)
    lengths = source.lengths.astype(np.float64)
    return {
        **own,
        **prefixed("source_", {name: values_at(column, links.best) for name, column in other.items()}),
        "copied": _copied(source, target),
        **_places(target, lengths),
        "repeated": _repeated(target),
    }


def _places(target: Tokens, source_lengths: NDArray[Any]) -> Columns:
    offsets = target.offsets
    place = places(offsets)
    return {
        "place": place,
        "place_from_end": spread(target.lengths, offsets) - 1 - place,
        "target_tokens": spread(target.lengths, offsets),
        "source_tokens": spread(source_lengths, offsets),
        "tokens_ratio": spread(target.lengths / np.maximum(source_lengths, 1), offsets),
    }


def _words(tokens: Tokens) -> Columns:
    return {
        name: np.array([of(word) for word in tokens.types], np.float64)[tokens.ids]
        if len(tokens.types)
        else np.empty(0)
        for name, of in _OF_WORD.items()
    }


def _copied(source: Tokens, target: Tokens) -> NDArray[Any]:
    left, right = source.lower(), target.lower()
    index = {word: i for i, word in enumerate(left.types)}
    size = len(left.types) + 1
    mapping = np.array([index.get(word, size - 1) for word in right.types], np.int64)
    if not len(mapping):
        return np.empty(0)
    there = distinct(left.text_index * size + left.ids)
    wanted = right.text_index * size + mapping[right.ids]
    return np.isin(wanted, there).astype(np.float64)


def _repeated(tokens: Tokens) -> NDArray[Any]:
    lowered = tokens.lower()
    key = lowered.text_index * max(len(lowered.types), 1) + lowered.ids
    _, index, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(count[index] - 1, np.float64)
