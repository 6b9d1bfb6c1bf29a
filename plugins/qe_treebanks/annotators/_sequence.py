"""Sequence labels by a linear model of first order. Training is an averaged structured perceptron, decoding
is Viterbi. Collins 2002, Discriminative training methods for hidden Markov models; weights averaged over
all steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.text.tokens import Tokens
from qe_treebanks.annotators import _storage
from qe_treebanks.linear import Floats, Hashes, Template, features_of, template_array
from qe_treebanks.words import attributes

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SequenceModel:
    """Scores of labels from hashed features of the words around and of the label before.

    labels       (L,) names
    templates    what a feature looks at
    weights      (2^k + L,) of feature and label (`qe_treebanks.linear`)
    transitions  (L + 1, L) of a label after another; the last row: at the beginning; minus infinity: never
    """

    labels: tuple[str, ...]
    templates: tuple[Template, ...]
    weights: Floats
    transitions: Floats

    @property
    def mask(self) -> np.uint64:
        return np.uint64(len(self.weights) - len(self.labels) - 1)

    def predict(self, tokens: Tokens, hashes: Hashes | None = None) -> Ids:
        """(n_tokens,) the label of every token, an index into `labels`."""
        words = attributes(tokens.types) if hashes is None else hashes
        result = np.empty(len(tokens.ids), np.int32)
        _predict(
            words, tokens.ids, tokens.offsets, template_array(self.templates), self.mask, self.weights,
            self.transitions, result,
        )  # fmt: skip
        return result

    def near(self, tokens: Tokens, margin: float, hashes: Hashes | None = None) -> Flags:
        """(n_tokens, L) labels of every token in labellings up to `margin` below the best. Labellings are of
        the token's whole text.
        """
        words = attributes(tokens.types) if hashes is None else hashes
        result = np.zeros((len(tokens.ids), len(self.labels)), np.bool_)
        _near(
            words, tokens.ids, tokens.offsets, template_array(self.templates), self.mask, self.weights,
            self.transitions, np.float32(margin), result,
        )  # fmt: skip
        return result


def fit(
    tokens: Tokens,
    gold: Ids,
    labels: Sequence[str],
    templates: Sequence[Template],
    *,
    follows: Flags | None = None,
    bits: int = 20,
    epochs: int = 8,
    seed: int = 0,
    progress: Progress = silent,
    stage: str = "training",
) -> SequenceModel:
    """A model of the labelled tokens.

    gold     (n_tokens,) index into `labels`
    follows  (L + 1, L) which label may follow which (last row: which may begin); any if None
    bits     2^bits weights
    """
    size = len(labels)
    allowed = np.ones((size + 1, size), np.bool_) if follows is None else follows
    fence = np.where(allowed, 0.0, -np.inf).astype(np.float32)
    weights, sums = np.zeros((1 << bits) + size, np.float32), np.zeros((1 << bits) + size, np.float64)
    moves, move_sums = np.zeros((size + 1, size), np.float32), np.zeros((size + 1, size))
    words, shapes = attributes(tokens.types), template_array(templates)
    mask, random, steps = np.uint64((1 << bits) - 1), np.random.default_rng(seed), 0
    for epoch in range(epochs):
        order = random.permutation(len(tokens))
        steps = _epoch(
            words, tokens.ids, tokens.offsets, gold, order, shapes, mask, weights, sums, moves, move_sums,
            fence, steps,
        )  # fmt: skip
        progress(stage, epoch + 1, epochs)
    average = (weights - sums / max(steps, 1)).astype(np.float32)
    return SequenceModel(
        tuple(labels),
        tuple(templates),
        average,
        (moves - move_sums / max(steps, 1) + fence).astype(np.float32),
    )


@njit(cache=True, nogil=True)
def _emissions(
    words: Hashes,
    ids: Ids,
    low: int,
    high: int,
    templates: Longs,
    mask: np.uint64,
    weights: Floats,
    size: int,
) -> tuple[Longs, Floats]:
    cells = np.empty((high - low, templates.shape[0]), np.int64)
    features_of(words, ids, np.empty(0, np.uint64), low, high, templates, mask, cells)
    scores = np.zeros((high - low, size), np.float32)
    for i in range(cells.shape[0]):
        for t in range(cells.shape[1]):
            base = cells[i, t]
            for label in range(size):
                scores[i, label] += weights[base + label]
    return cells, scores


@njit(cache=True, nogil=True)
def _viterbi(scores: Floats, transitions: Floats, back: Ids, best: Ids) -> None:
    n, size = scores.shape
    for label in range(size):
        scores[0, label] += transitions[size, label]
    for i in range(1, n):
        for label in range(size):
            top, last = scores[i - 1, 0] + transitions[0, label], 0
            for before in range(1, size):
                score = scores[i - 1, before] + transitions[before, label]
                if score > top:
                    top, last = score, before
            scores[i, label] += top
            back[i, label] = last
    best[n - 1] = np.argmax(scores[n - 1])
    for i in range(n - 1, 0, -1):
        best[i - 1] = back[i, best[i]]


@njit(cache=True, nogil=True)
def _predict(
    words: Hashes,
    ids: Ids,
    offsets: Longs,
    templates: Longs,
    mask: np.uint64,
    weights: Floats,
    transitions: Floats,
    result: Ids,
) -> None:
    size = transitions.shape[1]
    for k in range(len(offsets) - 1):
        low, high = offsets[k], offsets[k + 1]
        n = high - low
        if n == 0:
            continue
        _, scores = _emissions(words, ids, low, high, templates, mask, weights, size)
        _viterbi(scores, transitions, np.empty((n, size), np.int32), result[low:high])


@njit(cache=True, nogil=True)
def _near(
    words: Hashes,
    ids: Ids,
    offsets: Longs,
    templates: Longs,
    mask: np.uint64,
    weights: Floats,
    transitions: Floats,
    margin: np.float32,
    result: Flags,
) -> None:
    size = transitions.shape[1]
    for k in range(len(offsets) - 1):
        low, high = offsets[k], offsets[k + 1]
        n = high - low
        if n == 0:
            continue
        _, own = _emissions(words, ids, low, high, templates, mask, weights, size)
        before = own.copy()  # the best labellings of the words up to one, by its label
        _viterbi(before, transitions, np.empty((n, size), np.int32), np.empty(n, np.int32))
        after = np.zeros((n, size), np.float32)  # of those behind it
        for i in range(n - 2, -1, -1):
            for label in range(size):
                best = np.float32(-np.inf)
                for following in range(size):
                    score = transitions[label, following] + own[i + 1, following] + after[i + 1, following]
                    best = max(best, score)
                after[i, label] = best
        least = before[n - 1].max() - margin
        for i in range(n):
            for label in range(size):
                result[low + i, label] = before[i, label] + after[i, label] >= least


@njit(cache=True, nogil=True)
def _epoch(
    words: Hashes,
    ids: Ids,
    offsets: Longs,
    gold: Ids,
    order: Longs,
    templates: Longs,
    mask: np.uint64,
    weights: Floats,
    sums: NDArray[np.float64],
    moves: Floats,
    move_sums: NDArray[np.float64],
    fence: Floats,
    steps: int,
) -> int:
    size = fence.shape[1]
    for k in order:
        low, high = offsets[k], offsets[k + 1]
        n = high - low
        steps += 1
        if n == 0:
            continue
        cells, scores = _emissions(words, ids, low, high, templates, mask, weights, size)
        best = np.empty(n, np.int32)
        _viterbi(scores, moves + fence, np.empty((n, size), np.int32), best)
        before, guess_before = size, size
        for i in range(n):
            right, guess = gold[low + i], best[i]
            if right != guess:
                for t in range(cells.shape[1]):
                    base = cells[i, t]
                    weights[base + right] += 1.0
                    sums[base + right] += steps
                    weights[base + guess] -= 1.0
                    sums[base + guess] -= steps
            if right != guess or before != guess_before:
                moves[before, right] += 1.0
                move_sums[before, right] += steps
                moves[guess_before, guess] -= 1.0
                move_sums[guess_before, guess] -= steps
            before, guess_before = right, guess
    return steps


def load(path: Path, name: str, labels: tuple[str, ...], templates: Sequence[Template]) -> SequenceModel:
    """The model whose weights and transitions are in `path`. Raises InputError for damaged ones."""
    transitions = _storage.load_array(path, "transitions", np.float32, 2)
    _storage.check(transitions.shape == (len(labels) + 1, len(labels)), "transitions have another size", path)
    sound = ~np.isnan(transitions) & (transitions < np.inf)
    _storage.check(bool(sound.all()), "transitions hold what is no score", path)
    return SequenceModel(labels, tuple(templates), _storage.weights(path, name, len(labels)), transitions)
