"""Adam, and a small neural network for P(BAD): one hidden layer over columns, encodings and vectors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.rows import row_products
from features.storage.damage import typed
from features.word_level.columns import Floats
from features.word_level.labels import Bad

Array = NDArray[Any]


class State(NamedTuple):
    """All p parameters, the first `decaying` of which decay, their gradients and moments: (p,) each."""

    values: Array
    gradients: Array
    first: Array
    second: Array
    decaying: int


def initial_state(parameters: Sequence[Array], decaying: int = 0) -> tuple[State, list[Array], list[Array]]:
    """The state before the first step, and views of values and gradients shaped like the parameters."""
    values = np.concatenate([parameter.reshape(-1) for parameter in parameters])
    gradients, first, second = (np.zeros_like(values) for _ in range(3))
    state = State(values, gradients, first, second, decaying)
    ends = np.cumsum([parameter.size for parameter in parameters])[:-1]

    def views(flat: Array) -> list[Array]:
        parts = np.split(flat, ends)
        return [part.reshape(like.shape) for part, like in zip(parts, parameters, strict=True)]

    return state, views(state.values), views(state.gradients)


def falling_rates(first: float, steps: int) -> NDArray[np.float64]:
    """Rates (steps,) that fall evenly to 0, with the correction of the bias of both moments."""
    done = np.arange(steps)
    correction = np.sqrt(1 - 0.999 ** (done + 1)) / (1 - 0.9 ** (done + 1))
    return np.asarray(first * (1 - done / steps) * correction, np.float64)


# Division as in C: its check for 0 would keep the loop from being vectorised.
@numba.njit(cache=True, nogil=True, error_model="numpy")
def step(state: State, rate: float, shrink: float) -> None:
    """Changes the parameters in place, with decoupled decay by `shrink` (Loshchilov and Hutter 2019)."""
    kind = state.values.dtype.type
    slow, slower, small, by = kind(0.1), kind(0.001), kind(1e-8), kind(rate)
    kept = kind(1) - kind(shrink)
    values, gradients, first, second, decaying = state
    for i in range(decaying):
        values[i] *= kept
    for i in range(len(values)):
        first[i] += slow * (gradients[i] - first[i])
        second[i] += slower * (gradients[i] * gradients[i] - second[i])
        values[i] -= by * first[i] / (np.sqrt(second[i]) + small)


@numba.njit(cache=True, nogil=True)
def rectify(units: Array, bias: Array) -> None:
    zero = units.dtype.type(0)
    for i in range(units.shape[0]):
        for j in range(units.shape[1]):
            units[i, j] = max(units[i, j] + bias[j], zero)


@numba.njit(cache=True, nogil=True)
def guess_errors(logits: Array, bias: float, bad: Array) -> None:
    """Replaces logits by the gradient (logistic(logit + bias) - bad) / n of the mean cross-entropy."""
    kind = logits.dtype.type
    for i in range(len(logits)):
        guess = kind(1) / (kind(1) + math.exp(-(logits[i] + bias)))
        logits[i] = (guess - bad[i]) / kind(len(logits))


@numba.njit(cache=True, nogil=True)
def sum_rows(values: Array, total: Array) -> None:
    total[:] = 0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            total[j] += values[i, j]


@numba.njit(cache=True, nogil=True)
def add_penalty(gradient: Array, weights: Array, decay: float) -> None:
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            gradient[i, j] += weights[i, j] * decay


Matrix = NDArray[np.float32]
Lookups = Sequence[tuple[Matrix, NDArray[Any]]]  # tables of vectors, and the row of each token in them

_VECTOR_SCALE: Final = np.float32(3.0)  # vectors have length 1: near the entries of standardised columns
_LIMIT: Final = np.float32(4.0)  # standard deviations


def moments(columns: Matrix) -> tuple[Matrix, Matrix]:
    """Means and standard deviations (k,) of defined values of columns (n, k); 0 and 1 if never defined."""
    mean, square = _moments(columns)
    deviation = np.sqrt(square).astype(np.float32)  # 0 also where it is too small for single precision
    return mean.astype(np.float32), np.where(deviation > 0, deviation, np.float32(1))


def width_of(vectors: Lookups) -> int:
    return sum(table.shape[1] for table, _ in vectors)


def standardised_inputs(columns: Matrix, vectors: Lookups, mean: Matrix, deviation: Matrix) -> Matrix:
    """Inputs (n, k + d): standardised columns (cut at 4 deviations; undefined: 0) and vectors."""
    first = columns.shape[1]
    result = np.empty((len(columns), first + width_of(vectors)), np.float32)
    _scale(columns, mean, deviation, result)
    for table, rows in vectors:
        last = first + table.shape[1]
        np.multiply(table[rows], _VECTOR_SCALE, out=result[:, first:last])
        first = last
    return result


@njit(cache=True, nogil=True)
def _moments(columns: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n, size = columns.shape
    count, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for i in range(n):
        for k in range(size):
            value = columns[i, k]
            if not np.isnan(value):
                count[k] += 1.0
                mean[k] += value
    for k in range(size):
        mean[k] /= max(count[k], 1.0)
    for i in range(n):
        for k in range(size):
            value = columns[i, k]
            if not np.isnan(value):
                square[k] += (value - mean[k]) ** 2
    for k in range(size):
        square[k] /= max(count[k], 1.0)
    return mean, square


@njit(cache=True, nogil=True)
def _scale(columns: Matrix, mean: Matrix, deviation: Matrix, result: Matrix) -> None:
    for i in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            value = (columns[i, k] - mean[k]) / deviation[k]
            result[i, k] = np.float32(0) if np.isnan(value) else min(max(value, -_LIMIT), _LIMIT)


_HIDDEN = 128
_EPOCHS = 2
_BATCH = 256
_RATE = 2e-3
_DECAY = 1e-4


class Layers(NamedTuple):
    weights: Matrix
    bias: Matrix
    output: Matrix
    output_bias: Matrix


class NetworkInputs(NamedTuple):
    """Standardised inputs (n, k + d) of several networks, and the moments of the columns (k,)."""

    values: Matrix
    mean: Matrix
    deviation: Matrix

    @classmethod
    def from_columns(cls, columns: Matrix, vectors: Lookups) -> "NetworkInputs":
        mean, deviation = moments(columns)
        return cls(standardised_inputs(columns, vectors, mean, deviation), mean, deviation)


@dataclass(frozen=True, eq=False)
class Network:
    """ReLU units over standardised columns, and a logistic output; undefined columns are 0."""

    mean: Matrix
    deviation: Matrix
    weights: Matrix
    bias: Matrix
    output: Matrix
    output_bias: Matrix

    def check_arrays(self) -> None:
        inputs, hidden = (self.weights.shape * 2)[:2]
        typed("weights", self.weights, np.float32, inputs, hidden)
        typed("mean", self.mean, np.float32, None)
        typed("deviation", self.deviation, np.float32, len(self.mean))
        typed("bias", self.bias, np.float32, hidden)
        typed("output", self.output, np.float32, hidden)
        typed("output_bias", self.output_bias, np.float32, 1)

    @classmethod
    def fit(cls, inputs: "NetworkInputs", bad: Bad, seed: int) -> "Network":
        labels, rng = bad.astype(np.float32), np.random.default_rng(seed)
        size, width = inputs.values.shape
        starts = (
            rng.normal(0, np.sqrt(2 / width), (width, _HIDDEN)),
            np.zeros(_HIDDEN),
            rng.normal(0, np.sqrt(1 / _HIDDEN), _HIDDEN),
            np.zeros(1),
        )
        state, parameters, gradients = initial_state([np.asarray(start, np.float32) for start in starts])
        layers, slopes = Layers(*parameters), Layers(*gradients)
        steps = -(-size // _BATCH)
        with threadpool_limits(1, "blas"):  # batches are small: threads would only wait for each other
            for rates in falling_rates(_RATE, _EPOCHS * steps).reshape(_EPOCHS, steps):
                _epoch(inputs.values, labels, rng.permutation(size), rates, layers, slopes, state)
        return cls(inputs.mean, inputs.deviation, *parameters)

    def probability(self, columns: Matrix, vectors: Lookups) -> Floats:
        """P(BAD) (n,); a token's does not depend on the others."""
        inputs = standardised_inputs(columns, vectors, self.mean, self.deviation)
        hidden = np.maximum(row_products(inputs, self.weights) + self.bias, 0)
        logit = row_products(hidden, self.output[:, None])[:, 0] + self.output_bias
        return np.asarray(expit(logit), np.float64)


@njit(cache=True, nogil=True)
def _epoch(
    inputs: Matrix, bad: Matrix, order: NDArray[np.int64], rates: Floats, layers: Layers, slopes: Layers,
    state: State,
) -> None:  # fmt: skip
    for i in range(len(rates)):
        rows = order[i * _BATCH : (i + 1) * _BATCH]
        batch_gradients(inputs[rows], bad[rows], layers, slopes)
        step(state, rates[i], 0.0)


@njit(cache=True, nogil=True)
def batch_gradients(inputs: Matrix, bad: Matrix, layers: Layers, slopes: Layers) -> None:
    kind = inputs.dtype.type
    hidden = np.dot(inputs, layers.weights)
    rectify(hidden, layers.bias)
    error = np.dot(hidden, layers.output)
    guess_errors(error, layers.output_bias[0], bad)
    np.dot(hidden.T, error, slopes.output)
    slopes.output_bias[0] = error.sum()
    for i in range(hidden.shape[0]):
        for j in range(hidden.shape[1]):
            hidden[i, j] = error[i] * layers.output[j] if hidden[i, j] > 0 else kind(0)
    sum_rows(hidden, slopes.bias)
    np.dot(inputs.T, hidden, slopes.weights)
    add_penalty(slopes.weights, layers.weights, kind(_DECAY))
