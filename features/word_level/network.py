"""A small neural network for P(BAD): one hidden layer over columns and vectors.

The columns include target encodings.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.rows import row_products
from features.storage.arrays import typed
from features.word_level.adam import State, falling_rates, initial_state, step
from features.word_level.columns import Floats
from features.word_level.labels import Bad
from features.word_level.scaling import Matrix, moments, standardised_inputs
from features.word_level.units import guess_errors, rectify, sum_rows

_HIDDEN = 128
_EPOCHS = 2
_BATCH = 256
_RATE = 2e-3
_DECAY = 1e-4


class Layers(NamedTuple):
    """Parameters or gradients of hidden units and output. Weights (k, h) and bias (h,) of units; output (h,),
    output_bias (1,).
    """

    weights: Matrix
    bias: Matrix
    output: Matrix
    output_bias: Matrix


@dataclass(frozen=True, eq=False)
class Network:
    """ReLU units over standardised columns, and a logistic output. Columns are standardised by `mean` and
    `deviation`; undefined ones are 0 then.
    """

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
    def fit(cls, columns: Matrix, vectors: Matrix, bad: Bad, seed: int) -> "Network":
        mean, deviation = moments(columns)
        inputs = standardised_inputs(columns, vectors, mean, deviation)
        with threadpool_limits(1, "blas"):  # batches are small: threads would only wait for each other
            parameters = _train(inputs, bad.astype(np.float32), np.random.default_rng(seed))
        return cls(mean, deviation, *parameters)

    def probability(self, columns: Matrix, vectors: Matrix) -> Floats:
        """(n,) P(BAD); a token's does not depend on the others."""
        inputs = standardised_inputs(columns, vectors, self.mean, self.deviation)
        hidden = np.maximum(row_products(inputs, self.weights) + self.bias, 0)
        logit = row_products(hidden, self.output[:, None])[:, 0] + self.output_bias
        return np.asarray(expit(logit), np.float64)


def _train(inputs: Matrix, bad: Matrix, rng: np.random.Generator) -> list[Matrix]:
    size, width = inputs.shape
    starts = (
        rng.normal(0, np.sqrt(2 / width), (width, _HIDDEN)),
        np.zeros(_HIDDEN),
        rng.normal(0, np.sqrt(1 / _HIDDEN), _HIDDEN),
        np.zeros(1),
    )
    state, parameters, gradients = initial_state([np.asarray(start, np.float32) for start in starts])
    steps = -(-size // _BATCH)
    for rates in falling_rates(_RATE, _EPOCHS * steps).reshape(_EPOCHS, steps):
        _epoch(inputs, bad, rng.permutation(size), rates, Layers(*parameters), Layers(*gradients), state)
    return parameters


@njit(cache=True, nogil=True)
def _epoch(
    inputs: Matrix,
    bad: Matrix,
    order: NDArray[np.int64],
    rates: Floats,
    layers: Layers,
    slopes: Layers,
    state: State,
) -> None:
    for i in range(len(rates)):
        rows = order[i * _BATCH : (i + 1) * _BATCH]
        batch_gradients(inputs[rows], bad[rows], layers, slopes)
        step(state, rates[i], 0.0)


@njit(cache=True, nogil=True)
def batch_gradients(inputs: Matrix, bad: Matrix, layers: Layers, slopes: Layers) -> None:
    """Into `slopes`: of the mean cross-entropy, and of the penalty of the weights of inputs."""
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
    slopes.weights[:] += layers.weights * kind(_DECAY)
