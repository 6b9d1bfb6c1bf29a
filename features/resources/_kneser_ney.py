"""Interpolated modified Kneser-Ney estimation over n-gram tables.

Chen and Goodman (1998), An Empirical Study of Smoothing Techniques for Language Modeling, section 3;
Heafield, Pouzyrevsky, Clark and Koehn (2013), Scalable Modified Kneser-Ney Language Model Estimation,
whose treatment of `<s>`, `<unk>`, unigrams and pruning this follows.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.threads import apply_to_each, even_ranges, side_by_side
from features.text.ngram_tables import Ints, OrderTable, Trie, occurrences
from features.text.tokens import BOS

Floats = NDArray[np.float64]

# What kenlm's `lmplz --discount_fallback` uses where the counts of counts define no discounts.
FIXED_DISCOUNTS = (0.5, 1.0, 1.5)
_SMALLEST = 200_000  # n-grams that are worth a thread of their own


@dataclass(frozen=True)
class Discounts:
    rule: str
    values: tuple[float, float, float]


def discounts(counts_of_counts: tuple[int, int, int, int]) -> Discounts:
    """The discounts of one order from n1 .. n4, the numbers of n-grams counted 1 .. 4 times.

    Modified Kneser-Ney (Chen and Goodman eq. 26): Y = n1 / (n1 + 2 n2), D1 = 1 - 2 Y n2 / n1, D2 = 2 - 3 Y n3
    / n2, D3+ = 3 - 4 Y n4 / n3. If one is undefined, or 0 < D <= its count does not hold: the one discount Y
    of Kneser and Ney; if that is undefined too: fixed ones.
    """
    n1, n2, n3, n4 = counts_of_counts
    if n1 == 0 or n2 == 0:
        return Discounts("fixed", FIXED_DISCOUNTS)
    y = n1 / (n1 + 2 * n2)
    if n3 > 0:
        values = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        if all(0 < d <= count for count, d in enumerate(values, start=1)):
            return Discounts("modified-kneser-ney", values)
    return Discounts("kneser-ney", (y, y, y))


@dataclass(frozen=True, eq=False)
class Estimate:
    """A backoff model: log10 probability of each n-gram, and log10 backoff weights below order N."""

    trie: Trie
    log10: NDArray[np.float32]
    backoff: NDArray[np.float32]
    discounts: tuple[Discounts, ...]


def estimate(tables: list[OrderTable], prune: bool = False) -> Estimate:
    """Interpolated modified Kneser-Ney from a text's n-gram tables of orders 1 .. N, with `<s>` and `</s>`.

    Counts below order N are numbers of distinct preceding words, or occurrences of n-grams that begin with
    `<s>`. Unigrams are interpolated with the uniform distribution over the vocabulary without `<s>`. `prune`
    drops n-grams of order 3 and more that occur once; their mass goes to their backoff.
    """
    retained = [_retained(table, order, prune) for order, table in enumerate(tables, start=1)]
    lower = np.full(1, 1 / (len(tables[0].words) - 1))  # uniform, without <s>
    probabilities: list[NDArray[np.float32]] = []
    backoffs: list[NDArray[np.float32]] = []
    rules: list[Discounts] = []
    for order, table in enumerate(tables, start=1):
        adjusted = _adjusted(tables, order)
        if order == 1:
            adjusted[BOS] = 0  # <s> is never predicted
        rule = discounts(_counts_of_counts(adjusted))
        suffix = table.suffix if order > 1 else np.zeros(len(adjusted), np.int32)
        p, gamma = _interpolated(
            table.first, adjusted, retained[order - 1], suffix, np.array(rule.values), lower
        )
        if order > 1:
            backoffs.append(_log10(gamma, retained[order - 2]))
        probabilities.append(_log10(p, retained[order - 1]))
        rules.append(rule)
        lower = p
    probabilities[0][BOS] = -99.0  # the convention of ARPA files for "never predicted"
    trie = Trie.from_levels(_pruned(tables, retained))
    backoff = np.concatenate(backoffs) if backoffs else np.empty(0, np.float32)
    return Estimate(trie, np.concatenate(probabilities), backoff, tuple(rules))


def _retained(table: OrderTable, order: int, prune: bool) -> NDArray[np.bool_]:
    return table.counts > 1 if prune and order >= 3 else np.ones(len(table.words), np.bool_)


def _adjusted(tables: list[OrderTable], order: int) -> Ints:
    table = tables[order - 1]
    if order == len(tables):
        return table.counts.copy()
    result: Ints = occurrences(tables[order].suffix, len(table.words))
    begin, end = BOS, BOS + 1  # n-grams that begin with <s> are neighbours, as their contexts are
    for lower in tables[1:order]:
        begin, end = int(lower.first[begin]), int(lower.first[end])
    result[begin:end] = table.counts[begin:end]
    return result


def _counts_of_counts(counts: Ints) -> tuple[int, int, int, int]:
    times = occurrences(np.minimum(counts, 5), 6)
    return int(times[1]), int(times[2]), int(times[3]), int(times[4])


def _interpolated(
    first: Ints, counts: Ints, retained: NDArray[np.bool_], suffix: Ints, discount: Floats, lower: Floats
) -> tuple[Floats, Floats]:
    p, gamma = np.empty(len(counts), np.float64), np.ones(len(first) - 1, np.float64)

    def work(contexts: tuple[int, int]) -> None:
        _interpolate(contexts, (first, counts, retained, suffix), discount, lower, p, gamma)

    apply_to_each(work, even_ranges(np.diff(first), _SMALLEST))
    return p, gamma


@numba.njit(cache=True, nogil=True)
def _interpolate(
    contexts: Any, ngrams: Any, discount: Floats, lower: Floats, p: Floats, gamma: Floats
) -> None:
    first, counts, retained, suffix = ngrams
    for context in range(contexts[0], contexts[1]):
        total, left = 0.0, 0.0
        for g in range(first[context], first[context + 1]):
            total += counts[g]
            if not retained[g]:
                left += counts[g]
            elif counts[g] > 0:
                left += discount[min(counts[g], 3) - 1]
        if total > 0:
            gamma[context] = left / total
        for g in range(first[context], first[context + 1]):
            own = counts[g] - discount[min(counts[g], 3) - 1] if counts[g] > 0 else 0.0
            p[g] = own / max(total, 1.0) + gamma[context] * lower[suffix[g]]


def _log10(values: Floats, retained: NDArray[np.bool_]) -> NDArray[np.float32]:
    parts = side_by_side(
        lambda part: np.log10(values[slice(*part)][retained[slice(*part)]]).astype(np.float32),
        [(low, low + _SMALLEST) for low in range(0, len(values), _SMALLEST)],
    )
    return np.concatenate([np.empty(0, np.float32), *parts])


def _pruned(tables: list[OrderTable], retained: list[NDArray[np.bool_]]) -> list[tuple[Ints, Ints]]:
    levels = [(tables[0].words, tables[0].first)]
    for k in range(1, len(tables)):
        table, stays, contexts = tables[k], retained[k], retained[k - 1]
        if stays.all() and contexts.all():
            levels.append((table.words, table.first))
            continue
        before = np.concatenate(([0], np.cumsum(stays))).astype(np.int32)
        begin = before[table.first[:-1][contexts]]  # what a dropped context had is dropped as well
        levels.append((table.words[stays], np.append(begin, before[-1:])))
    return levels
