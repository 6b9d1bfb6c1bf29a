"""METEOR with three stages: words match if equal, of equal stem, or synonyms."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Final

import numpy as np

from features.basics.array_types import FloatArray

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75  # of version 1.3, English, task `rank`
EXACT, STEM, SYNONYM = 1.0, 0.6, 0.8  # weights of the stages; the first that matches counts
FUNCTION_WORDS: Final = 1e-3  # their relative frequency in a corpus is above that

_BEAM: Final = 40  # partial alignments kept, as in METEOR
_PARTNERS: Final = 8  # partners tried for a word, and the one that goes on with the chunk
_NO_PLACE: Final = -2

Pair = tuple[int, int, float]  # places in hypothesis and reference, weight


@dataclass(frozen=True)
class Words:
    """A text: words, stems, flags of function words, and synonym sets of each word (None: not used)."""

    words: Sequence[str]
    stems: Sequence[str]
    functional: Sequence[bool]
    senses: Sequence[Set[str]] | None = None

    def weight(self, place: int) -> float:
        return 1 - DELTA if self.functional[place] else DELTA

    @property
    def total(self) -> float:
        return sum(map(self.weight, range(len(self.words))))


@dataclass(frozen=True)
class _Partial:
    used: int  # bits: places of the reference
    last: int  # partner of the last word
    cost: tuple[int, int, int, float]  # words without a match, chunks, distance, weight below the highest
    pair: Pair | None = None
    previous: "_Partial | None" = None


def meteor(hypothesis: Words, reference: Words) -> float:
    """Between 0 and 1; 0 where nothing matches, see `score_of`."""
    return float(score_of(np.array(statistics(hypothesis, reference))))


def statistics(hypothesis: Words, reference: Words) -> tuple[float, ...]:
    """Statistics of `score_of`: matched and all weights of both sides, chunks, matches, both lengths."""
    pairs = aligned(hypothesis, reference)
    chunks = bool(pairs) + sum(a[0] + 1 != b[0] or a[1] + 1 != b[1] for a, b in pairwise(pairs))
    precise = sum(hypothesis.weight(i) * weight for i, _, weight in pairs), hypothesis.total
    recalled = sum(reference.weight(j) * weight for _, j, weight in pairs), reference.total
    return *precise, *recalled, chunks, len(pairs), len(hypothesis.words), len(reference.words)


def score_of(sums: FloatArray, alpha: float = ALPHA, beta: float = BETA, gamma: float = GAMMA) -> FloatArray:
    """Scores (...) from statistics (..., 8), or sums of them; 0 without matches.

    P and R are the weighted shares of matched words of hypothesis and reference, function words counting 1 -
    DELTA and others DELTA; F = P R / (alpha P + (1 - alpha) R); the score is F times 1 - gamma (chunks /
    matches)^beta, and F itself if all words of both texts match in one chunk. Source: Denkowski and Lavie
    2011 (Meteor 1.3), section 2, without paraphrases.
    """
    own, of_own, ref_place, of_other, chunks, matches, words, reference_words = np.moveaxis(sums, -1, 0)
    some = matches > 0
    precision, recall = own / np.where(some, of_own, 1), ref_place / np.where(some, of_other, 1)
    mean = precision * recall / np.where(some, alpha * precision + (1 - alpha) * recall, 1)
    whole = (chunks == 1) & (matches == words) & (matches == reference_words)
    penalty = np.where(whole, 0, gamma * (chunks / np.where(some, matches, 1)) ** beta)
    return np.asarray(np.where(some, mean * (1 - penalty), 0.0))


def aligned(hypothesis: Words, reference: Words) -> list[Pair]:
    """One-to-one matches, by place: as many as possible, in few chunks, at small distances (beam search)."""
    beam = [_Partial(0, _NO_PLACE, (0, 0, 0, 0.0))]
    for place in range(len(hypothesis.words)):
        each = (
            (ref_place, _weight(hypothesis, reference, place, ref_place))
            for ref_place in range(len(reference.words))
        )
        weights = {ref_place: weight for ref_place, weight in each if weight}
        partners = dict(sorted(weights.items(), key=lambda entry: abs(entry[0] - place)))
        best: dict[tuple[int, int], _Partial] = {}
        for partial in beam:
            for longer in _longer(partial, place, partners):
                known = best.get((longer.used, longer.last))
                if known is None or longer.cost < known.cost:
                    best[longer.used, longer.last] = longer
        beam = sorted(best.values(), key=lambda partial: partial.cost)[:_BEAM]
    pairs, partial = list[Pair](), beam[0]
    while partial.previous is not None:
        if partial.pair is not None:
            pairs.append(partial.pair)
        partial = partial.previous
    return pairs[::-1]


def _weight(hypothesis: Words, reference: Words, place: int, ref_place: int) -> float:
    if hypothesis.words[place] == reference.words[ref_place]:
        return EXACT
    if hypothesis.stems[place] == reference.stems[ref_place]:
        return STEM
    if hypothesis.senses is None or reference.senses is None:
        return 0.0
    return 0.0 if hypothesis.senses[place].isdisjoint(reference.senses[ref_place]) else SYNONYM


def _longer(partial: _Partial, place: int, partners: dict[int, float]) -> Iterator[_Partial]:
    alone, chunks, distance, missed = partial.cost
    yield _Partial(partial.used, _NO_PLACE, (alone + 1, chunks, distance, missed), None, partial)
    tried = list(
        islice((ref_place for ref_place in partners if not partial.used >> ref_place & 1), _PARTNERS)
    )
    following = partial.last + 1
    if following in partners and following not in tried and not partial.used >> following & 1:
        tried.append(following)
    for ref_place in tried:
        weight = partners[ref_place]
        far, low = distance + abs(place - ref_place), missed + EXACT - weight
        cost = alone, chunks + (ref_place != following), far, low
        yield _Partial(partial.used | 1 << ref_place, ref_place, cost, (place, ref_place, weight), partial)
