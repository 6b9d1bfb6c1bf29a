"""Ensembles of small neural networks."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from features.core.array_types import FloatArray
from features.core.hints import Count, NotNegative, Positive, Seed
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learners._base import Learner
from qe.learners._checks import relative_weights, rows_to_predict, training_data

Weights = list[
    FloatArray
]  # into the hidden units (k, m h), their biases (m h,), out of them (m, h), biases (m,)

_ADAM = (0.9, 0.999, 1e-8)


class MlpEnsemble(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of networks with one hidden layer of tanh units that differ in their random initialisation.

    n_members, hidden         networks, and hidden units in each
    epochs, batch_size        passes over the data, segments per step
    learning_rate             of Adam, falling linearly to 0
    weight_decay              quadratic penalty per step, decoupled

    All networks see the same batches and are trained at once, as one wide layer.

    Source: WMT12 UEdin, Section 4.1 (500 networks, consensus by averaging); Kingma and Ba 2015.
    """

    def __init__(
        self,
        n_members: Count = 20,
        hidden: Count = 10,
        epochs: Count = 40,
        batch_size: Count = 64,
        learning_rate: Positive = 0.005,
        weight_decay: NotNegative = 0.01,
        seed: Seed = 0,
    ) -> None:
        self.n_members = n_members
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        rng = np.random.default_rng(self.seed)
        self.centre_, self.spread_ = float(y.mean()), float(y.std())
        self.weights_ = self._initial(X.shape[1], rng)
        target, moments = (
            (y - self.centre_) / (self.spread_ or 1.0),
            [[0.0 * w, 0.0 * w] for w in self.weights_],
        )
        steps = self.epochs * -(-len(y) // self.batch_size)
        step = 0
        for _ in range(self.epochs):
            order = rng.permutation(len(y))
            for start in range(0, len(y), self.batch_size):
                rows = order[start : start + self.batch_size]
                gradients = _gradients(self.weights_, X[rows], target[rows], weights[rows])
                step += 1
                self._update(gradients, moments, step, 1 - (step - 1) / steps)
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.asarray(self.predict_members(X).mean(axis=1))

    def predict_members(self, X: Any) -> FloatArray:
        """(n, n_members) what each network says."""
        outputs, _ = _forward(self.weights_, rows_to_predict(self, X))
        return np.asarray(outputs * self.spread_ + self.centre_)

    def _initial(self, k: int, rng: np.random.Generator) -> Weights:
        m, h = self.n_members, self.hidden
        into = rng.normal(scale=k**-0.5, size=(k, m * h))
        return [into, np.zeros(m * h), rng.normal(scale=h**-0.5, size=(m, h)), np.zeros(m)]

    def _update(self, gradients: Weights, moments: list[Weights], step: int, share: float) -> None:
        """One step of Adam; biases do not decay."""
        first, second, least = _ADAM
        rate = self.learning_rate * share
        for weights, gradient, moment in zip(self.weights_, gradients, moments, strict=True):
            moment[0] += (1 - first) * (gradient - moment[0])
            moment[1] += (1 - second) * (gradient**2 - moment[1])
            scaled = moment[0] / (1 - first**step) / (np.sqrt(moment[1] / (1 - second**step)) + least)
            decay = self.weight_decay if weights.ndim == 2 else 0.0
            weights -= rate * (scaled + decay * weights)


def _forward(weights: Weights, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, m) outputs and (n, m, h) hidden activations."""
    into, hidden_bias, out, bias = weights
    hidden = np.tanh(X @ into + hidden_bias).reshape(len(X), *out.shape)
    return np.einsum("nmh,mh->nm", hidden, out) + bias, hidden


def _gradients(weights: Weights, X: FloatArray, y: FloatArray, importance: FloatArray) -> Weights:
    """Of half the mean squared error of each network, rows weighted by their importance."""
    outputs, hidden = _forward(weights, X)
    errors = (outputs - y[:, None]) * importance[:, None] / len(y)
    back = (errors[:, :, None] * weights[2] * (1 - hidden**2)).reshape(len(X), -1)
    return [X.T @ back, back.sum(axis=0), np.einsum("nm,nmh->mh", errors, hidden), errors.sum(axis=0)]


class Mlp(Learner):
    """Averaged small neural networks; see MlpEnsemble for the parameters. Deterministic for one `seed`."""

    space: ClassVar[Mapping[str, Distribution]] = {
        "hidden": IntRange(2, 40, log=True),
        "epochs": IntRange(10, 120, log=True),
        "learning_rate": FloatRange(5e-4, 0.03, log=True),
        "weight_decay": FloatRange(1e-4, 10.0, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learners.mlp_ensemble.MlpEnsemble",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return MlpEnsemble(**{"seed": seed, **params})
