"""ContextNetwork: a small network that predicts a word from its neighbours and source words."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray
from features.basics.rows import row_products, single_row_products
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


def _rate(completed: int, steps: int) -> float:
    rising = min(_RISING, steps // 10 + 1)
    return _RATE * min((completed + 1) / rising, 1) * (1 - completed / steps)


def inputs_of(target: Singles, source: Singles, contexts: Ints, target_slots: int) -> Singles:
    left, right = target[contexts[:, :target_slots]], source[contexts[:, target_slots:]]
    return np.concatenate([left, right], axis=1).reshape(len(contexts), -1)


@dataclass(eq=False)
class Learning:
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
        size = len(self.parameters["output"])
        drawn = np.exp(rng.random(_SAMPLES) * np.log(size + 1)) - 1
        sampled = np.unique(np.minimum(drawn.astype(np.int32), size - 1))

        def piece(rows: NDArray[np.int64]) -> Gradients:
            target_slots = mask[rows].astype(np.float32)
            return self.gradients(contexts[rows], words[rows], sampled, target_slots, len(words))

        pieces = list(apply(piece, np.array_split(np.arange(len(words)), _PIECES)))
        single_rate: Any = np.float32(rate)
        for name in pieces[0]:
            p, squares, parts = self.parameters[name], self.squares[name], [part[name] for part in pieces]
            if parts[0][0] is None:
                gradient = sum(values for _, values in parts)
                squares += gradient * gradient
                p -= single_rate * gradient / np.sqrt(squares)
            else:
                rows, values = (np.concatenate(column) for column in zip(*parts, strict=True))
                _descend_rows(_wide(p), _wide(squares), rows, _wide(values), self._places[name], single_rate)

    def gradients(self, contexts: Ints, words: Ints, sampled: Ints, mask: Singles, size: int) -> Gradients:
        """Gradients of the summed loss of n words over the `size` of the batch, by sampled softmax.

        Logits of the (m,) `sampled` words are less the logarithm of how often they are drawn. Source: Jean et
        al. 2015, section 3.
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
            for k in range(width):
                total[distinct, k] = gradient[i, k]
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


_TERMS: Final = 64  # terms that are summed in single precision
_MIN_EXPONENT: Final = np.float32(-87.0)  # logarithm of about the least single that is no fraction of it
_LOG2E: Final = np.float32(1 / math.log(2))
# Taylor series of 2^x for -.5 <= x <= .5: the first term left out is below 1.3e-7 of the sum, half of a bit.
_C1, _C2, _C3, _C4, _C5, _C6 = (np.float32(math.log(2) ** n / math.factorial(n)) for n in range(1, 7))
_LOWEST: Final = np.finfo(np.float32).min
_HALF: Final = np.float32(0.5)
_ONE: Final = np.float32(1.0)
# Sums may be taken in another order than written, the same one for every row; logits are finite.
_MATH: Final = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@numba.njit(cache=True, nogil=True, fastmath=_MATH)
def _highest(logits: Any, bias: Any, parts: Any) -> Any:
    parts[:] = _LOWEST
    for first in range(0, len(logits), len(parts)):
        some, more = logits[first : first + len(parts)], bias[first : first + len(parts)]
        for j in range(len(some)):
            some[j] += more[j]
            parts[j] = max(parts[j], some[j])
    return parts.max()


@numba.njit(cache=True, nogil=True, fastmath=_MATH)
def _sums(logits: Any, highest: Any, own_logit: Any, parts: Any, powers: Any) -> Any:
    scales = powers.view(np.float32)
    total, weighted, above = 0.0, 0.0, 0
    for first in range(0, len(logits), len(parts)):
        some = logits[first : first + len(parts)]
        for j in range(len(some)):
            x = max(some[j] - highest, _MIN_EXPONENT) * _LOG2E
            whole = np.floor(x + _HALF)
            f = x - whole
            parts[j] = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
            powers[j] = (np.int32(whole) + np.int32(127)) << np.int32(23)  # the bits of 2^whole
        e: Any = np.float32(0)
        xe: Any = np.float32(0)
        more: Any = np.int32(0)
        for j in range(len(some)):
            raised = parts[j] * scales[j]
            e += raised
            xe += raised * (some[j] - highest)
            more += np.int32(some[j] > own_logit)
        total += e
        weighted += xe
        above += more
    return total, weighted, above


@numba.njit(cache=True, nogil=True)
def summarise(logits: Any, bias: Any, words: Any, result: Any) -> None:
    """Writes log-probability, log rank, margin and entropy (n, 4) of words from logits (n, m)."""
    parts, powers = np.empty(_TERMS, np.float32), np.empty(_TERMS, np.int32)
    for row in range(len(words)):
        highest = _highest(logits[row], bias, parts)
        own_logit = logits[row, words[row]]
        total, weighted, above = _sums(logits[row], highest, own_logit, parts, powers)
        result[row, 0] = own_logit - highest - math.log(total)
        result[row, 1] = math.log1p(above)
        result[row, 2] = highest - own_logit
        result[row, 3] = math.log(total) - weighted / total


_ROWS = 256  # scored at a time
_TOGETHER = 8  # summed up at a time: their logits fit into the processor's cache


@dataclass(frozen=True, eq=False)
class ContextNetwork:
    """ReLU units over the vectors of a context's words; softmax over target words.

    target, source       (words, d) vectors; row 0: any word that is not known
    hidden, hidden_bias  (slots * d, h), (h,)
    output, output_bias  (words of the target, h), (words of the target,)

    The slots of a context are words of the target first, words of the source after them. Source: Devlin et
    al. 2014, section 2, with words on both sides as Kim et al. 2017 have them; learned by sampled softmax
    (Jean et al. 2015), by Adagrad (Duchi et al. 2011).
    """

    target: Singles
    source: Singles
    hidden: Singles
    hidden_bias: Singles
    output: Singles
    output_bias: Singles

    @classmethod
    def beginning(
        cls, words: tuple[int, int], slots: int, dimensions: int, units: int, seed: int
    ) -> "ContextNetwork":
        rng = np.random.default_rng(seed)
        shapes = {
            "target": ((words[0], dimensions), 0.1),
            "source": ((words[1], dimensions), 0.1),
            "hidden": ((slots * dimensions, units), (2 / (slots * dimensions)) ** 0.5),
            "hidden_bias": ((units,), 0.0),
            "output": ((words[0], units), 0.05),
            "output_bias": ((words[0],), 0.0),
        }
        arrays = {}
        for name, (shape, scale) in shapes.items():
            drawn = rng.standard_normal(shape, np.float32) * np.float32(scale)
            arrays[name] = np.asarray(drawn, np.float32)
        return cls(**arrays)

    def trained(
        self, contexts: Ints, words: Ints, target_slots: int, *, epochs: int, seed: int, report: Report
    ) -> "ContextNetwork":
        """Learns the (n,) words from their (n, slots) contexts, of which `target_slots` are of the target."""
        learning = Learning({name: np.array(value) for name, value in vars(self).items()}, target_slots)
        rng = np.random.default_rng(seed)
        steps, completed = epochs * -(-len(words) // _BATCH), 0
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
        return ContextNetwork(**learning.parameters)

    def units(self, contexts: Ints, target_slots: int) -> Singles:
        """(n, h) hidden units; a row does not depend on the others."""
        result = np.empty((len(contexts), len(self.hidden_bias)), np.float32)
        weights = self.hidden.astype(np.float64)
        for first in range(0, len(contexts), _ROWS):
            inputs = inputs_of(self.target, self.source, contexts[first : first + _ROWS], target_slots)
            result[first : first + _ROWS] = np.maximum(row_products(inputs, weights) + self.hidden_bias, 0)
        return result

    def predictions(self, units: Singles, words: Ints, *, single: bool = False) -> Singles:
        """Scores (n, 4) of each word, natural logarithms; a row does not depend on the others.

        They are log-probability, log of 1 + more probable words, log-probability of the best word less its
        own, entropy. `single`: in single precision, equal to some 1e-5.
        """
        result = np.empty((len(words), 4), np.float32)
        if single:
            for first in range(0, len(words), _ROWS):
                rows = slice(first, first + _ROWS)
                single_logits = single_row_products(units[rows], self.output.T)
                summarise(single_logits, self.output_bias, words[rows], result[rows])
            return result
        weights = np.ascontiguousarray(self.output.T, np.float64)
        logits = np.empty((_ROWS, len(self.output_bias)))  # one of them: new ones cost more than the sums
        for first in range(0, len(words), _ROWS):
            end = min(first + _ROWS, len(words))
            row_products(units[first:end], weights, logits[: end - first])
            for row in range(first, end, _TOGETHER):
                last = min(row + _TOGETHER, end)
                target_slots = logits[row - first : last - first] + self.output_bias
                result[row:last] = _summaries(target_slots, words[row:last])
        return result


def _summaries(logits: FloatArray, words: Ints) -> FloatArray:
    highest = logits.max(axis=1, keepdims=True)
    shifted = logits - highest
    raised = np.exp(shifted)
    total = raised.sum(axis=1)
    target_slots = np.take_along_axis(shifted, words[:, None].astype(np.int64), axis=1)
    entropy = np.log(total) - (raised * shifted).sum(axis=1) / total
    above = (shifted > target_slots).sum(axis=1)
    return np.column_stack(
        [target_slots[:, 0] - np.log(total), np.log1p(above), -target_slots[:, 0], entropy]
    )
