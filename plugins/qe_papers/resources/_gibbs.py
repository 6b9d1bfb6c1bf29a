"""Latent Dirichlet allocation by collapsed Gibbs sampling (Griffiths and Steyvers 2004)."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from features.basics.array_types import FloatArray
from qe_papers.resources._lda import Bags, LdaSettings

_TOLD = 10  # iterations between two reports


def sample(
    bags: Bags, vocabulary: int, settings: LdaSettings, iterations: int, report: Callable[[int], None]
) -> FloatArray:
    """(vocabulary, topics) word counts of topics in the last iteration, and the prior.

    An iteration draws the topic of every word of every document once, given those of all others: topic k
    with a probability proportional to (n_dk + alpha) (n_kw + eta) / (n_k + V eta), counts without the word.
    `report` gets the iterations done. Deterministic for one seed.
    """
    words = np.repeat(bags.ids, bags.counts)
    tokens = np.concatenate(([0], np.cumsum(bags.counts, dtype=np.int64)))
    offsets = tokens[bags.offsets]
    random = np.random.default_rng(settings.seed)
    topics = random.integers(settings.topics, size=len(words)).astype(np.int16)
    of_words = np.zeros((vocabulary, settings.topics), np.int32)
    np.add.at(of_words, (words, topics), 1)
    totals = of_words.sum(axis=0, dtype=np.int64)
    for completed in range(0, iterations, _TOLD):
        rounds = min(_TOLD, iterations - completed)
        seed = int(random.integers(2**31))
        _iterate(words, offsets, topics, of_words, totals, settings.alpha, settings.eta, rounds, seed)
        report(completed + rounds)
    return of_words.astype(np.float64) + settings.eta


@numba.njit(cache=True, nogil=True)
def _iterate(
    words: Any,
    offsets: Any,
    topics: Any,
    of_words: Any,
    totals: Any,
    alpha: float,
    eta: float,
    rounds: int,
    seed: int,
) -> None:
    np.random.seed(seed)
    vocabulary, size = of_words.shape
    of_document, weights = np.zeros(size, np.int64), np.zeros(size)
    for _ in range(rounds):
        for d in range(len(offsets) - 1):
            of_document[:] = 0
            for i in range(offsets[d], offsets[d + 1]):
                of_document[topics[i]] += 1
            for i in range(offsets[d], offsets[d + 1]):
                word, old = words[i], topics[i]
                of_document[old] -= 1
                of_words[word, old] -= 1
                totals[old] -= 1
                total = 0.0
                for k in range(size):
                    total += (
                        (of_document[k] + alpha) * (of_words[word, k] + eta) / (totals[k] + vocabulary * eta)
                    )
                    weights[k] = total
                drawn, new = np.random.random() * total, 0
                while weights[new] < drawn:
                    new += 1
                topics[i] = new
                of_document[new] += 1
                of_words[word, new] += 1
                totals[new] += 1
