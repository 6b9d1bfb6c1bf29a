"""Learning of a ContextNetwork: sampled softmax over the words of a batch, by Adagrad."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.threads import cores

Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Report = Callable[[int, int], None]
Gradient = tuple[Ints | None, Singles]  # rows that it is of, which may repeat (None: of the whole array)
Gradients = dict[str, Gradient]

_BATCH = 512  # tokens
_PIECES = 2  # of a batch, side by side; as many with any number of cores, as sums round by their pieces
_SAMPLES = 256  # words that every batch tells its own from
_RATE = 0.2  # of Adagrad, rising at first and then falling to 0
_RISING = 500  # steps, at most a tenth: sums of squares say little yet
_DROPPED = 0.2  # share of hidden units
_LEAST = 1e-6  # of a sum of squared gradients


def learned(
    beginning: Mapping[str, Singles],
    contexts: Ints,
    words: Ints,
    target_slots: int,
    *,
    epochs: int,
    seed: int,
    report: Report,
) -> dict[str, Singles]:
    """Trains a network that tells (n,) words from (n, slots) contexts; its arrays. `target_slots` of the
    slots are of the target.
    """
    learning = Learning({name: np.array(value) for name, value in beginning.items()}, target_slots)
    rng = np.random.default_rng(seed)
    batches = -(-len(words) // _BATCH)
    steps, completed = epochs * batches, 0
    # Batches are small: threads of BLAS would only wait for each other.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(min(_PIECES, cores())) as pool:
        for _ in range(epochs):
            order = rng.permutation(len(words))
            for first in range(0, len(words), _BATCH):
                rows = np.sort(order[first : first + _BATCH])
                learning.step(contexts[rows], words[rows], _rate(completed, steps), rng, pool.map)
                completed += 1
                if completed % 200 == 0:
                    report(completed, steps)
    return learning.parameters


def _rate(completed: int, steps: int) -> float:
    rising = min(_RISING, steps // 10 + 1)
    return _RATE * min((completed + 1) / rising, 1) * (1 - completed / steps)


def inputs_of(target: Singles, source: Singles, contexts: Ints, target_slots: int) -> Singles:
    """(n, slots * d) the vectors of the words of each context, one after the other."""
    left, right = target[contexts[:, :target_slots]], source[contexts[:, target_slots:]]
    return np.concatenate([left, right], axis=1).reshape(len(contexts), -1)


@dataclass(eq=False)
class Learning:
    """A network in training: its arrays, and sums of squared gradients. Duchi et al. 2011."""

    parameters: dict[str, Singles]
    target_slots: int
    squares: dict[str, Singles] = field(init=False)
    _corrections: Singles = field(init=False)  # log of how often a batch draws each word
    _places: dict[str, Ints] = field(init=False)  # of rows among those of a batch; -1: none

    def __post_init__(self) -> None:
        p = self.parameters
        self.squares = {name: np.full_like(value, _LEAST) for name, value in p.items()}
        size = len(p["output"])
        probability = np.log1p(1 / (np.arange(size) + 1.0)) / np.log(size + 1)
        self._corrections = np.log(probability * _SAMPLES).astype(np.float32)
        rows = ("target", "source", "output", "output_bias")
        self._places = {name: np.full(len(p[name]), -1, np.int32) for name in rows}

    def step(
        self, contexts: Ints, words: Ints, rate: float, rng: np.random.Generator, apply: Any = map
    ) -> None:
        shape = len(words), len(self.parameters["hidden_bias"])
        mask = (rng.random(shape, np.float32) >= _DROPPED) / np.float32(1 - _DROPPED)
        sampled = _sample(rng, len(self.parameters["output"]))

        def piece(rows: NDArray[np.int64]) -> Gradients:
            target_slots = mask[rows].astype(np.float32)
            return self.gradients(contexts[rows], words[rows], sampled, target_slots, len(words))

        pieces = list(apply(piece, np.array_split(np.arange(len(words)), _PIECES)))
        for name in pieces[0]:
            self._descend(name, [part[name] for part in pieces], np.float32(rate))

    def _descend(self, name: str, pieces: Sequence[Gradient], rate: Any) -> None:
        p, squares = self.parameters[name], self.squares[name]
        if pieces[0][0] is None:
            gradient = sum(values for _, values in pieces)
            squares += gradient * gradient
            p -= rate * gradient / np.sqrt(squares)
        else:
            rows, values = (np.concatenate(column) for column in zip(*pieces, strict=True))
            _descend_rows(_wide(p), _wide(squares), rows, _wide(values), self._places[name], rate)

    def gradients(self, contexts: Ints, words: Ints, sampled: Ints, mask: Singles, size: int) -> Gradients:
        """Gradients of the summed loss of n words over the `size` of the batch. The loss of a word is that of
        a softmax over it and the (m,) `sampled` words but itself, whose logits are less the logarithm of how
        often they are drawn; hidden units are times the (n, h) `kept`. Source: Jean et al. 2015, section 3.
        """
        p, target_slots = self.parameters, self.target_slots
        inputs = inputs_of(p["target"], p["source"], contexts, target_slots)
        active = np.maximum(inputs @ p["hidden"] + p["hidden_bias"], 0)
        error, back, output = self._softmax_gradients(active * mask, words, sampled, size)
        hidden = back * mask * (active > 0)
        vectors = (hidden @ p["hidden"].T).reshape(*contexts.shape, -1)
        ids, width = np.concatenate([words, sampled]), vectors.shape[2]
        left, right = (
            vectors[:, part].reshape(-1, width) for part in (slice(target_slots), slice(target_slots, None))
        )
        return {
            "hidden": (None, inputs.T @ hidden),
            "hidden_bias": (None, hidden.sum(axis=0)),
            "output": (ids, output),
            "output_bias": (ids, error),
            "target": (contexts[:, :target_slots].ravel(), left),
            "source": (contexts[:, target_slots:].ravel(), right),
        }

    def _softmax_gradients(
        self, units: Singles, words: Ints, sampled: Ints, size: int
    ) -> tuple[Singles, Singles, Singles]:
        vectors, biases = self.parameters["output"], self.parameters["output_bias"] - self._corrections
        right, others = vectors[words], vectors[sampled]
        target_slots = np.einsum("ij,ij->i", units, right) + biases[words]
        rest = units @ others.T
        rest += biases[sampled]
        places = np.minimum(np.searchsorted(sampled, words), len(sampled) - 1)
        (same,) = np.nonzero(sampled[places] == words)
        rest[same, places[same]] = -np.inf
        highest = np.maximum(target_slots, rest.max(axis=1))
        target_slots = np.exp(target_slots - highest)
        rest -= highest[:, None]
        np.exp(rest, out=rest)
        total = (target_slots + rest.sum(axis=1)) * np.float32(size)
        wrong, weight = target_slots / total - np.float32(1 / size), 1 / total
        back = wrong[:, None] * right + weight[:, None] * (rest @ others)
        output = np.concatenate([wrong[:, None] * units, rest.T @ (weight[:, None] * units)])
        return np.concatenate([wrong, weight @ rest]), back, output


def _sample(rng: np.random.Generator, size: int) -> Ints:
    drawn = np.exp(rng.random(_SAMPLES) * np.log(size + 1)) - 1
    return np.unique(np.minimum(drawn.astype(np.int32), size - 1))


def _wide(array: Singles) -> Singles:
    return array.reshape(len(array), -1)


@numba.njit(cache=True, nogil=True)
def _descend_rows(parameters: Any, squares: Any, rows: Any, gradient: Any, places: Any, rate: Any) -> None:
    width, distinct = gradient.shape[1], 0
    total = np.empty_like(gradient)
    for i in range(len(rows)):
        place = places[rows[i]]
        if place < 0:
            places[rows[i]] = distinct
            total[distinct] = gradient[i]
            distinct += 1
        else:
            for k in range(width):
                total[place, k] += gradient[i, k]
    for i in range(len(rows)):
        row = rows[i]
        place = places[row]
        if place < 0:
            continue
        places[row] = -1
        for k in range(width):
            squares[row, k] += total[place, k] * total[place, k]
            parameters[row, k] -= rate * total[place, k] / np.sqrt(squares[row, k])
