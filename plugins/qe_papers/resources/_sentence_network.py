"""A network with one hidden layer from source words to the words of the translation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray

Singles = NDArray[np.float32]
Sets = csr_matrix  # (n, dimensions) float32, 1 where a text has a dimension


@dataclass(frozen=True)
class Training:
    """Training settings: stochastic gradient descent on the cross-entropy of each output.

    rate    of the first step, falling linearly to a tenth
    """

    hidden: int = 500
    epochs: int = 10
    batch: int = 32
    rate: float = 1.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class SentenceNetwork:
    """Weights into and out of the hidden units (tanh), and their biases; outputs are logistic. into (inputs,
    hidden), hidden_bias (hidden,), out (hidden, outputs), bias (outputs,)
    """

    into: Singles
    hidden_bias: Singles
    output: Singles
    bias: Singles

    def probabilities(self, source: Sets) -> FloatArray:
        """(n, outputs) probabilities of the translation's dimensions. In double precision: the same in every
        batch.
        """
        hidden = np.tanh(source.astype(np.float64) @ self.into.astype(np.float64) + self.hidden_bias)
        return np.asarray(_logistic(hidden @ self.output.astype(np.float64) + self.bias), np.float64)


def trained(
    source: Sets, target: Sets, pairs: int, training: Training, progress: Callable[[int], None]
) -> SentenceNetwork:
    """From `pairs` at most, evenly spread. Outputs begin at the shares of pairs that have them: what a
    source adds is learned.
    """
    rng = np.random.default_rng(training.seed)
    network = _initial(source.shape[1], target, training.hidden, rng)
    chosen = np.unique(np.linspace(0, source.shape[0] - 1, min(pairs, source.shape[0])).astype(np.int64))
    steps = training.epochs * -(-len(chosen) // training.batch)
    step = 0
    with threadpool_limits(1, "blas"):  # batches are small: beside other work, threads wait for each other
        for _ in range(training.epochs):
            order = rng.permutation(chosen)
            for start in range(0, len(order), training.batch):
                rows = order[start : start + training.batch]
                rate = training.rate * (1 - 0.9 * step / steps)
                _step(network, source[rows], target[rows].toarray(), rate)
                step += 1
                progress(step * len(chosen) // steps)
    return network


def _initial(inputs: int, target: Sets, hidden: int, rng: np.random.Generator) -> SentenceNetwork:
    shares = (np.asarray(target.sum(axis=0)).ravel() + 0.5) / (target.shape[0] + 1)
    return SentenceNetwork(
        rng.normal(scale=0.1, size=(inputs, hidden)).astype(np.float32),
        np.zeros(hidden, np.float32),
        np.zeros((hidden, target.shape[1]), np.float32),
        np.log(shares / (1 - shares)).astype(np.float32),
    )


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
    """(n,) Euclidean distance of what was predicted from what is there."""
    squares = (predicted**2).sum(axis=1)
    there = target.multiply(1 - 2 * predicted).sum(axis=1)  # (1 - p)^2 - p^2 = 1 - 2 p
    return np.asarray(np.sqrt(np.maximum(squares + np.asarray(there).ravel(), 0.0)))


def mean_log(predicted: FloatArray, target: Sets) -> FloatArray:
    """(n,) mean natural logarithm of the predictions for dimensions that are there. NaN without any."""
    logs = target.multiply(np.log(np.maximum(predicted, 1e-30)))
    counts = np.diff(target.indptr)
    sums = np.asarray(logs.sum(axis=1)).ravel()
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
