"""WordPrediction: neural network that predicts a translation's words from the source's."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha1
from itertools import pairwise
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.resources.word_lexicon import KeptWords, WordSets, plain
from features.storage.damage import Damaged, finite, typed
from features.text.corpus import ParallelCorpus
from features.text.tokens import Tokens, Vocabulary

Singles = NDArray[np.float32]
Sets = csr_matrix  # (n, dimensions) float32, 1 if a text has the dimension


@dataclass(frozen=True)
class Training:
    """Stochastic gradient descent on the cross-entropy of each output; `rate` falls linearly to a tenth."""

    hidden: int = 500
    epochs: int = 10
    batch: int = 32
    rate: float = 1.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class SentenceNetwork:
    """Network with tanh hidden units and logistic outputs.

    Weights and biases: into (inputs, hidden), hidden_bias (hidden,), out (hidden, outputs), bias (outputs,).
    """

    into: Singles
    hidden_bias: Singles
    output: Singles
    bias: Singles

    def probabilities(self, source: Sets) -> FloatArray:
        """Probabilities (n, outputs) of the translation's dimensions, equal in every batch."""
        hidden = np.tanh(source.astype(np.float64) @ self.into.astype(np.float64) + self.hidden_bias)
        return np.asarray(_logistic(hidden @ self.output.astype(np.float64) + self.bias), np.float64)


def trained(
    source: Sets, target: Sets, pairs: int, training: Training, progress: Callable[[int], None]
) -> SentenceNetwork:
    """Trains on at most `pairs`, evenly spaced; output biases start at the dimensions' base rates."""
    rng = np.random.default_rng(training.seed)
    shares = (np.asarray(target.sum(axis=0)).ravel() + 0.5) / (target.shape[0] + 1)
    network = SentenceNetwork(
        rng.normal(scale=0.1, size=(source.shape[1], training.hidden)).astype(np.float32),
        np.zeros(training.hidden, np.float32),
        np.zeros((training.hidden, target.shape[1]), np.float32),
        np.log(shares / (1 - shares)).astype(np.float32),
    )
    chosen = np.unique(np.linspace(0, source.shape[0] - 1, min(pairs, source.shape[0])).astype(np.int64))
    steps = training.epochs * -(-len(chosen) // training.batch)
    step = 0
    with threadpool_limits(1, "blas"):  # threads do not pay for small batches
        for _ in range(training.epochs):
            order = rng.permutation(chosen)
            for start in range(0, len(order), training.batch):
                rows = order[start : start + training.batch]
                rate = training.rate * (1 - 0.9 * step / steps)
                _step(network, source[rows], target[rows].toarray(), rate)
                step += 1
                progress(step * len(chosen) // steps)
    return network


def _step(network: SentenceNetwork, source: Sets, target: Singles, rate: float) -> None:
    hidden = np.tanh(source @ network.into + network.hidden_bias)
    errors = (_logistic(hidden @ network.output + network.bias) - target) * np.float32(rate / len(target))
    back = (errors @ network.output.T) * (1 - hidden**2)
    network.output[:] -= hidden.T @ errors
    network.bias[:] -= errors.sum(axis=0)
    used = np.unique(source.indices)
    network.into[used] -= source[:, used].T @ back
    network.hidden_bias[:] -= back.sum(axis=0)


def _logistic(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


def distance(predicted: FloatArray, target: Sets) -> FloatArray:
    squares = (predicted**2).sum(axis=1)
    there = target.multiply(1 - 2 * predicted).sum(axis=1)  # (1 - p)^2 - p^2 = 1 - 2 p
    return np.asarray(np.sqrt(np.maximum(squares + np.asarray(there).ravel(), 0.0)))


def mean_log(predicted: FloatArray, target: Sets) -> FloatArray:
    """Mean natural logarithm (n,) of the predictions for present dimensions; NaN without any."""
    logs = target.multiply(np.log(np.maximum(predicted, 1e-30)))
    counts = np.diff(target.indptr)
    sums = np.asarray(logs.sum(axis=1)).ravel()
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


BITS, SALTS = 12, 3  # UEdin at WMT12, section 3.5: the first 12 bits of SHA-1 with three salts
_TRAINING: Final = Training()
_ROWS: Final = 500  # texts per block of predictions


@dataclass(frozen=True, kw_only=True)
class WordPredictionBuilder(Builder):
    """Texts as binary vectors: a dimension per selected word or, with `hashed`, per hash value."""

    hashed: bool
    pairs: Count = 30_000
    training: Training = _TRAINING
    source_kept_words: KeptWords | None = None
    target_kept_words: KeptWords | None = None

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "WordPrediction":
        left, right = plain(corpus.source), plain(corpus.target)
        source, target = (
            Vocabulary([] if kept is None else kept.words)
            for kept in (self.source_kept_words, self.target_kept_words)
        )
        total = min(self.pairs, len(corpus))
        network = trained(
            _vectors(left, source, self.hashed), _vectors(right, target, self.hashed), self.pairs,
            self.training, lambda completed: progress("word prediction", completed, total),
        )  # fmt: skip
        return WordPrediction(
            source, target, network, settings=self.settings, corpus_fingerprint=corpus.fingerprint
        )


@dataclass(frozen=True, eq=False)
class WordPrediction(Resource):
    """A network that maps the source's vector to the translation's.

    Words are lower-cased; all words with digits are one word.

    Source: WMT12 UEdin, section 3.5.
    """

    parts: ClassVar[Parts] = {
        "word_prediction_filtered": {
            "hashed": False,
            "source_kept_words": "source_kept_words",
            "target_kept_words": "target_kept_words",
        },
        "word_prediction_hashed": {"hashed": True},
    }
    builder = WordPredictionBuilder

    source: Vocabulary
    target: Vocabulary
    network: SentenceNetwork

    def check_arrays(self) -> None:
        hashed = bool(self.settings["hashed"])
        inputs, outputs = (2**BITS if hashed else len(v) for v in (self.source, self.target))
        network, hidden = self.network, len(self.network.hidden_bias)
        if hidden < 1:
            raise Damaged("`hidden_bias` must have at least one entry, but has none")
        for name, array, *shape in (
            ("into", network.into, inputs, hidden), ("hidden_bias", network.hidden_bias, hidden),
            ("out", network.output, hidden, outputs), ("bias", network.bias, outputs),
        ):  # fmt: skip
            typed(name, array, np.float32, *shape)
            finite(name, array)

    def score(self, source: Tokens, target: Tokens) -> tuple[FloatArray, FloatArray]:
        """Euclidean distances (n,), geometric mean predictions; NaN for a side without dimensions."""
        hashed = bool(self.settings["hashed"])
        given = _vectors(plain(source), self.source, hashed)
        there = _vectors(plain(target), self.target, hashed)
        distances, means = np.empty(len(source)), np.empty(len(source))
        for low in range(0, len(source), _ROWS):
            rows = slice(low, low + _ROWS)
            predicted = self.network.probabilities(given[rows])
            distances[rows], means[rows] = distance(predicted, there[rows]), mean_log(predicted, there[rows])
        known = (np.diff(given.indptr) > 0) & (np.diff(there.indptr) > 0)
        return np.where(known, distances, np.nan), np.where(known, np.exp(means), np.nan)


def _vectors(tokens: Tokens, vocabulary: Vocabulary, hashed: bool) -> Sets:
    if hashed:
        by_type = np.array([hashes(word) for word in tokens.types], np.int64).reshape(-1, SALTS)
        lists = [np.unique(by_type[tokens.ids[low:high]]) for low, high in pairwise(tokens.offsets.tolist())]
        offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        ids, width = np.concatenate([np.empty(0, np.int64), *lists]).astype(np.int32), 2**BITS
    else:
        sets = WordSets.from_tokens(tokens, vocabulary)
        ids, offsets, width = sets.ids, sets.offsets, len(vocabulary)
    return csr_matrix((np.ones(len(ids), np.float32), ids, offsets), shape=(len(offsets) - 1, width))


def hashes(word: str) -> list[int]:
    """The first bits of the SHA-1 of each salt followed by the word.

    >>> [int(sha1(salt + b"casa").hexdigest()[:3], 16) for salt in (b"0", b"1", b"2")] == hashes("casa")
    True
    """
    text = word.encode("utf-8", "surrogatepass")
    digests = (sha1(str(salt).encode() + text, usedforsecurity=False).digest() for salt in range(SALTS))
    return [int.from_bytes(digest[:2], "big") >> (16 - BITS) for digest in digests]
