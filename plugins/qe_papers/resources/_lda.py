"""Latent Dirichlet allocation: online variational Bayes over bags of words. Hoffman, Blei and Bach 2010."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.threads import apply_to_each, even_ranges, side_by_side

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

_ROUNDS = 50  # updates of a document's topics at most
_ROWS = 4096  # words a thread computes expectations of at a time
_CLOSE = 1e-3  # mean change of a topic's weight at which a document's topics are settled


@dataclass(frozen=True, eq=False)
class Bags:
    """Documents as bags of words. The distinct words of document d are ids[offsets[d]:offsets[d + 1]], with
    counts.
    """

    ids: Ints
    counts: Ints
    offsets: Longs

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class LdaSettings:
    """Hyperparameters: topics, Dirichlet priors of documents and topics, learning rate. The rate is (t +
    delay)^-decay.
    """

    topics: int
    alpha: float
    eta: float
    passes: int = 1
    batch: int = 4096
    delay: float = 10.0
    decay: float = 0.7
    seed: int = 0


def train(bags: Bags, vocabulary: int, settings: LdaSettings, report: Callable[[int], None]) -> FloatArray:
    """(vocabulary, topics) variational weights of words in topics. `report` gets the number of documents
    done. Documents are taken in a random order, `batch` at a time.
    """
    random = np.random.default_rng(settings.seed)
    weights = random.gamma(100.0, 0.01, (vocabulary, settings.topics))
    step, completed = 0, 0
    for _ in range(settings.passes):
        order = random.permutation(len(bags))
        for start in range(0, len(order), settings.batch):
            topics = order[start : start + settings.batch]
            expected = expected_words(weights)
            gathered = np.zeros_like(weights)
            theta, norm = settled(bags, topics, expected, settings.alpha)
            _gather(bags.ids, bags.counts, bags.offsets, topics, theta, norm, gathered)
            rate = (step + settings.delay) ** -settings.decay
            weights = (1 - rate) * weights + rate * (
                settings.eta + len(bags) / len(topics) * gathered * expected
            )
            step, completed = step + 1, completed + len(topics)
            report(completed)
    return weights


def expected_words(weights: FloatArray) -> FloatArray:
    """(vocabulary, topics) exp E[log p(word | topic)]."""
    from scipy.special import psi

    totals = psi(weights.sum(axis=0))
    rows = [slice(low, low + _ROWS) for low in range(0, len(weights), _ROWS)]
    parts = side_by_side(lambda batch: np.exp(psi(weights[batch]) - totals), rows)
    return np.concatenate([np.empty((0, weights.shape[1])), *parts])


def settled(bags: Bags, topics: Longs, expected: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """(n, topics) exp E[log share] of the chosen documents; normaliser of each distinct word. Documents are
    independent of each other: ranges of them are settled side by side.
    """
    sizes = np.diff(bags.offsets)[topics]
    begins = np.concatenate(([0], np.cumsum(sizes)))
    theta, norm = np.empty((len(topics), expected.shape[1])), np.empty(begins[-1])

    def work(documents: tuple[int, int]) -> None:
        _settle(*documents, bags.ids, bags.counts, bags.offsets, topics, begins, expected, alpha, theta, norm)

    apply_to_each(work, even_ranges(sizes + 1))
    return theta, norm


def infer(bags: Bags, expected: FloatArray, alpha: float) -> FloatArray:
    """(n, topics) mean topic shares of each document; for an empty one the prior's, all equal."""
    result = np.empty((len(bags), expected.shape[1]))
    _infer_batch(bags.ids, bags.counts, bags.offsets, expected, alpha, result)
    shares: FloatArray = result / result.sum(axis=1, keepdims=True)
    return shares


@numba.njit(cache=True, nogil=True)
def _digamma(x: float) -> float:
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return float(result + np.log(x) - 0.5 / x - series)


@numba.njit(cache=True, nogil=True)
def _document(ids: Any, counts: Any, expected: Any, alpha: float, gamma: Any, theta: Any, norm: Any) -> None:
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
def _settle(
    low: int,
    high: int,
    ids: Any,
    counts: Any,
    offsets: Any,
    topics: Any,
    begins: Any,
    expected: Any,
    alpha: float,
    theta: Any,
    norm: Any,
) -> None:
    gamma = np.empty(expected.shape[1])
    for n in range(low, high):
        batch = slice(offsets[topics[n]], offsets[topics[n] + 1])
        _document(
            ids[batch], counts[batch], expected, alpha, gamma, theta[n], norm[begins[n] : begins[n + 1]]
        )


@numba.njit(cache=True, nogil=True)
def _gather(ids: Any, counts: Any, offsets: Any, topics: Any, theta: Any, norm: Any, gathered: Any) -> None:
    at = 0
    for n in range(len(topics)):
        for i in range(offsets[topics[n]], offsets[topics[n] + 1]):
            for k in range(theta.shape[1]):
                gathered[ids[i], k] += counts[i] * theta[n, k] / norm[at]
            at += 1


@numba.njit(cache=True, nogil=True)
def _infer_batch(ids: Any, counts: Any, offsets: Any, expected: Any, alpha: float, result: Any) -> None:
    theta = np.empty(expected.shape[1])
    for d in range(len(result)):
        words, times = ids[offsets[d] : offsets[d + 1]], counts[offsets[d] : offsets[d + 1]]
        _document(words, times, expected, alpha, result[d], theta, np.empty(len(words)))
