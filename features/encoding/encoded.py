"""What an encoder computes for texts and pairs of texts, and how tokens of pairs match."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.text.tokenizer import composed, normalise
from features.text.tokens import ratio

Floats = NDArray[np.float32]
Spans = NDArray[np.int32]
NO_SPANS: Final[Spans] = np.empty((0, 2), np.int32)
NO_LAYERS: Final[Floats] = np.empty((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class EncodedText:
    """Vectors of a text and of its tokens, with their positions.

    vector  (d,) of the text; None if it has no token that the encoder knows
    tokens  (k, e) of its tokens, each of length 1, without prompt and marks; k is 0 without vectors of tokens
    spans   (k, 2) begin and end of each token in the text, in characters
    layers  (l, d) of the text by the requested inner layers
    """

    vector: Floats | None
    tokens: Floats
    spans: Spans
    layers: Floats = field(default_factory=lambda: NO_LAYERS)


class TextEncoder(Protocol):
    def encode(self, texts: Sequence[str], prompt: str = "") -> list[EncodedText]:
        """One for each text, read after the prompt, independent of the others."""


def units(vectors: Floats) -> Floats:
    """Vectors scaled to length 1 along the last axis; vectors of length 0 are unchanged."""
    lengths = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))[..., np.newaxis]
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def norms(vectors: FloatArray) -> FloatArray:
    """(n,) lengths of (n, d) vectors; NaN if d is 0."""
    if not vectors.shape[1]:
        return np.full(len(vectors), np.nan)
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors)), np.float64)


def unit_rows(vectors: FloatArray) -> FloatArray:
    """(n, d) vectors scaled to length 1; NaN of length 0."""
    return ratio(vectors, np.broadcast_to(norms(vectors)[:, np.newaxis], vectors.shape))


def cosines(first: FloatArray, second: FloatArray) -> FloatArray:
    return ratio(np.einsum("nd,nd->n", first, second), norms(first) * norms(second))


def joined(source: FloatArray, target: FloatArray) -> FloatArray:
    """(n, 4d) vectors of pairs: source, target, |difference| and product (Rei et al. 2020, COMET)."""
    return np.hstack([source, target, np.abs(source - target), source * target])


def within_text(spans: Sequence[tuple[int, int]], prompt: str) -> Spans:
    """Spans (k, 2) in the text, from spans in prompt and text; tokens of the prompt end at 0 or before."""
    return np.array(spans, np.int32).reshape(-1, 2) - len(prompt)


_APART = re.compile(r" +(?=[.,;:!?](?: |$))")  # blanks before a mark that closes


def as_read(text: str) -> str:
    """Straight quotes, single blanks, none before a mark that closes, letters composed (NFC).

    >>> as_read("“So” ,  he said . ")
    '"So", he said.'
    """
    return _APART.sub("", normalise(composed(text)))


_SHARES: Final = (0.1, 0.25, 0.5)


class Match(NamedTuple):
    """Cosines of tokens with the most similar one of the other text; quantiles are of the first text."""

    precision: float
    recall: float
    f1: float
    lowest: float
    q10: float
    q25: float
    q50: float


NO_MATCH = Match(*[float("nan")] * 7)


def best_match(first: Floats, second: Floats) -> Match:
    """Match of (k, e) and (l, e) vectors of length 1 (BERTScore without idf, Zhang et al. 2020).

    >>> best_match(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[:1])
    Match(precision=0.5, recall=1.0, f1=0.666..., lowest=0.0, q10=0.1..., q25=0.25, q50=0.5)
    """
    if not (len(first) and len(second)):
        return NO_MATCH
    cosines = first @ second.T
    best = cosines.max(axis=1)
    precision, recall = float(best.mean(dtype=np.float64)), float(cosines.max(axis=0).mean(dtype=np.float64))
    f1 = 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0
    quantiles = map(float, np.quantile(best.astype(np.float64), _SHARES))
    return Match(precision, recall, f1, float(best.min()), *quantiles)


_CHUNK = 1024  # pairs whose token vectors are held at a time
_LIMIT = 100_000_000  # numbers remembered, 400 MB

Pair = tuple[str, str]
Prompted = tuple[str, str]  # a prompt, and the text behind it


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """Vectors (n, d) of n pairs of texts, NaN if undefined, and matches (n, 7) of their tokens."""

    first: FloatArray
    second: FloatArray
    matches: FloatArray
    layers: Sequence[tuple[FloatArray, FloatArray]] = ()

    def by_layer(self) -> list["EncodedPairs"]:
        return [self, *(EncodedPairs(*vectors, self.matches) for vectors in self.layers)]


@dataclass(eq=False)
class PairMemory:
    """An encoder's results for texts and pairs, by content; emptied when full."""

    prompts: tuple[str, str] = ("", "")
    _vectors: dict[Prompted, Floats | None] = field(default_factory=dict, repr=False)  # (1 + l, d)
    _matches: dict[Pair, Match] = field(default_factory=dict, repr=False)
    _numbers: int = 0

    def pairs(self, encoder: TextEncoder, first: Sequence[str], second: Sequence[str]) -> EncodedPairs:
        """Encoded pairs of text i of both columns; only new pairs are encoded."""
        rows = list(zip(first, second, strict=True))
        blocks = [self._chunk(encoder, rows[i : i + _CHUNK]) for i in range(0, len(rows), _CHUNK)]
        shapes = (v.shape for block in blocks for v in (*block[0], *block[1]) if v is not None)
        shape = next(shapes, (1, 0))
        one = _table([v for block in blocks for v in block[0]], shape)
        other = _table([v for block in blocks for v in block[1]], shape)
        return EncodedPairs(
            one[:, 0],
            other[:, 0],
            np.array([m for block in blocks for m in block[2]], np.float64).reshape(-1, len(NO_MATCH)),
            [(one[:, layer], other[:, layer]) for layer in range(1, shape[0])],
        )

    def _chunk(
        self, encoder: TextEncoder, rows: list[Pair]
    ) -> tuple[list[Floats | None], list[Floats | None], list[Match]]:
        new = [pair for pair in dict.fromkeys(rows) if pair not in self._matches]
        encoded = encode_prompted(encoder, [each for pair in new for each in self._prompted(pair)])
        matches = {pair: best_match(*(encoded[each].tokens for each in self._prompted(pair))) for pair in new}
        vectors = {prompted: _vectors(each) for prompted, each in encoded.items()}
        asked = [self._prompted(pair) for pair in rows]
        known = {each: self._vectors[each] for both in asked for each in both if each not in vectors}
        vectors_of = {**known, **vectors}
        result = (
            [vectors_of[first] for first, _ in asked],
            [vectors_of[second] for _, second in asked],
            [matches[pair] if pair in matches else self._matches[pair] for pair in rows],
        )
        size = sum(0 if vector is None else vector.size for vector in vectors.values())
        size += len(NO_MATCH) * len(matches)
        if self._numbers + size > _LIMIT:
            self._vectors.clear()
            self._matches.clear()
            self._numbers = 0
        if size <= _LIMIT:
            self._vectors.update(vectors)
            self._matches.update(matches)
            self._numbers += size
        return result

    def _prompted(self, pair: Pair) -> tuple[Prompted, Prompted]:
        return (self.prompts[0], pair[0]), (self.prompts[1], pair[1])

    def __getstate__(self) -> dict[str, Any]:
        return {"prompts": self.prompts, "_vectors": {}, "_matches": {}, "_numbers": 0}


def encode_prompted(encoder: TextEncoder, texts: Iterable[Prompted]) -> dict[Prompted, EncodedText]:
    distinct = dict.fromkeys(texts)
    encoded = dict[Prompted, EncodedText]()
    for prompt in dict.fromkeys(prompt for prompt, _ in distinct):
        own = [text for other, text in distinct if other == prompt]
        encoded |= zip(((prompt, text) for text in own), encoder.encode(own, prompt), strict=True)
    return encoded


def _vectors(encoded: EncodedText) -> Floats | None:
    if encoded.vector is None:
        return None
    return np.concatenate([encoded.vector[np.newaxis], *([encoded.layers] if encoded.layers.size else [])])


def _table(vectors: list[Floats | None], shape: tuple[int, ...]) -> FloatArray:
    nothing: NDArray[np.float64] = np.full(shape, np.nan)
    rows = [nothing if vector is None else vector for vector in vectors]
    return np.array(rows, np.float64).reshape(len(rows), *shape)
