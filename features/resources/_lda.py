"""Latent Dirichlet allocation: online variational Bayes (Hoffman, Blei and Bach 2010) over bags of words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.tokens import FloatArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

_ROUNDS = 50  # updates of a document's topics at most
_CLOSE = 1e-3  # mean change of a topic's weight at which a document's topics are settled


@dataclass(frozen=True, eq=False)
class Bags:
    """Documents as bags: the distinct words of document d are ids[offsets[d]:offsets[d + 1]], with counts."""

    ids: Ints
    counts: Ints
    offsets: Longs

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Settings:
    """Hyperparameters: topics, Dirichlet priors of documents and topics, learning rate (t + delay)^-decay."""

    topics: int
    alpha: float
    eta: float
    passes: int = 1
    batch: int = 4096
    delay: float = 10.0
    decay: float = 0.7
    seed: int = 0


def train(bags: Bags, vocabulary: int, settings: Settings, report: Callable[[int], None]) -> FloatArray:
    """(vocabulary, topics) variational weights of the words in each topic; `report` gets documents done.

    Documents are taken in a random order, `batch` at a time.
    """
    random = np.random.default_rng(settings.seed)
    weights = random.gamma(100.0, 0.01, (vocabulary, settings.topics))
    step, done = 0, 0
    for _ in range(settings.passes):
        order = random.permutation(len(bags))
        for start in range(0, len(order), settings.batch):
            chosen = order[start : start + settings.batch]
            expected = expected_words(weights)
            found = np.zeros_like(weights)
            _gather(bags.ids, bags.counts, bags.offsets, chosen, expected, settings.alpha, found)
            rate = (step + settings.delay) ** -settings.decay
            weights = (1 - rate) * weights + rate * (
                settings.eta + len(bags) / len(chosen) * found * expected
            )
            step, done = step + 1, done + len(chosen)
            report(done)
    return weights


def expected_words(weights: FloatArray) -> FloatArray:
    """(vocabulary, topics) exp E[log p(word | topic)]."""
    from scipy.special import psi

    expected: FloatArray = np.exp(psi(weights) - psi(weights.sum(axis=0)))
    return expected


def infer(bags: Bags, expected: FloatArray, alpha: float) -> FloatArray:
    """(n, topics) mean topic shares of each document; for an empty one the prior's, all equal."""
    result = np.empty((len(bags), expected.shape[1]))
    _infer_batch(bags.ids, bags.counts, bags.offsets, expected, alpha, result)
    shares: FloatArray = result / result.sum(axis=1, keepdims=True)
    return shares


@numba.njit(cache=True, nogil=True)
def _digamma(x: float) -> float:
    """For x > 0: recurrence up to 6, then the asymptotic series."""
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return float(result + np.log(x) - 0.5 / x - series)


@numba.njit(cache=True, nogil=True)
def _document(ids: Any, counts: Any, expected: Any, alpha: float, gamma: Any, theta: Any, norm: Any) -> None:
    """Settles one document: gamma its topic weights, theta exp E[log share], norm the words' normalisers."""
    topics = len(gamma)
    gamma[:] = alpha + counts.sum() / topics
    update = np.empty(topics)
    for _ in range(_ROUNDS):
        total = _digamma(gamma.sum())
        for k in range(topics):
            theta[k] = np.exp(_digamma(gamma[k]) - total)
        update[:] = 0.0
        for i in range(len(ids)):
            norm[i] = 1e-100
            for k in range(topics):
                norm[i] += theta[k] * expected[ids[i], k]
            share = counts[i] / norm[i]
            for k in range(topics):
                update[k] += share * expected[ids[i], k]
        change = 0.0
        for k in range(topics):
            new = alpha + theta[k] * update[k]
            change += abs(new - gamma[k])
            gamma[k] = new
        if change < _CLOSE * topics:
            break


@numba.njit(cache=True, nogil=True)
def _gather(
    ids: Any, counts: Any, offsets: Any, chosen: Any, expected: Any, alpha: float, found: Any
) -> None:
    """Adds to found (vocabulary, topics) the expected counts of the chosen documents, short of `expected`."""
    topics = expected.shape[1]
    gamma, theta = np.empty(topics), np.empty(topics)
    for d in chosen:
        words, times = ids[offsets[d] : offsets[d + 1]], counts[offsets[d] : offsets[d + 1]]
        norm = np.empty(len(words))
        _document(words, times, expected, alpha, gamma, theta, norm)
        for i in range(len(words)):
            for k in range(topics):
                found[words[i], k] += times[i] * theta[k] / norm[i]


@numba.njit(cache=True, nogil=True)
def _infer_batch(ids: Any, counts: Any, offsets: Any, expected: Any, alpha: float, result: Any) -> None:
    theta = np.empty(expected.shape[1])
    for d in range(len(result)):
        words, times = ids[offsets[d] : offsets[d + 1]], counts[offsets[d] : offsets[d + 1]]
        _document(words, times, expected, alpha, result[d], theta, np.empty(len(words)))
