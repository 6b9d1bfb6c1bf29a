"""A small neural network for P(BAD): one hidden layer over columns, encodings and word vectors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features._word_quality.columns import Floats
from features._word_quality.scaling import Matrix, moments, standardised_inputs
from features.core.arrays import typed
from features.core.rows import row_products

_HIDDEN = 128
_EPOCHS = 2
_BATCH = 256
_RATE = 2e-3
_DECAY = 1e-4


@dataclass(frozen=True, eq=False)
class Network:
    """Columns are standardised by `mean` and `deviation`, undefined ones 0 then; ReLU; logistic output."""

    mean: Matrix
    deviation: Matrix
    weights: Matrix
    bias: Matrix
    output: Matrix
    output_bias: Matrix

    def check_arrays(self) -> None:
        """Raises Damaged if the arrays do not fit each other."""
        inputs, hidden = (self.weights.shape * 2)[:2]
        typed("weights", self.weights, np.float32, inputs, hidden)
        typed("mean", self.mean, np.float32, None)
        typed("deviation", self.deviation, np.float32, len(self.mean))
        typed("bias", self.bias, np.float32, hidden)
        typed("output", self.output, np.float32, hidden)
        typed("output_bias", self.output_bias, np.float32, 1)

    @classmethod
    def fit(cls, columns: Matrix, vectors: Matrix, bad: NDArray[np.bool_], seed: int) -> "Network":
        """Adam (Kingma and Ba 2015) on the cross-entropy, the rate falling to 0."""
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
    shapes = (
        rng.normal(0, np.sqrt(2 / width), (width, _HIDDEN)),
        np.zeros(_HIDDEN),
        rng.normal(0, np.sqrt(1 / _HIDDEN), _HIDDEN),
        np.zeros(1),
    )
    parameters = [np.asarray(start, np.float32) for start in shapes]
    adam = _Adam(parameters, steps=_EPOCHS * -(-size // _BATCH))
    for _ in range(_EPOCHS):
        order = rng.permutation(size)
        for first in range(0, size, _BATCH):
            rows = order[first : first + _BATCH]
            adam.step(_gradients(parameters, inputs[rows], bad[rows]))
    return parameters


def _gradients(parameters: list[Matrix], inputs: Matrix, bad: Matrix) -> list[Matrix]:
    weights, bias, output, output_bias = parameters
    hidden = np.maximum(inputs @ weights + bias, 0)
    p = expit(hidden @ output + output_bias)
    error = (p - bad) / np.float32(len(bad))
    back = np.outer(error, output) * (hidden > 0)
    return [inputs.T @ back + _DECAY * weights, back.sum(axis=0), hidden.T @ error, error.sum(keepdims=True)]


class _Adam:
    """Changes the parameters in place."""

    def __init__(self, parameters: list[Matrix], steps: int) -> None:
        self.parameters, self.steps, self.done = parameters, steps, 0
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]

    def step(self, gradients: list[Matrix]) -> None:
        rate = _RATE * (1 - self.done / self.steps)
        self.done += 1
        rate *= float(np.sqrt(1 - 0.999**self.done) / (1 - 0.9**self.done))
        for p, m, v, g in zip(self.parameters, self.first, self.second, gradients, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= np.float32(rate) * m / (np.sqrt(v) + np.float32(1e-8))
