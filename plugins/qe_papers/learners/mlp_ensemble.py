"""Ensembles of small neural networks."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.array_types import FloatArray
from features.basics.hints import Count, NotNegative, Positive, Seed
from features.basics.threads import apply_to_each
from features.word_level.network import falling_rates
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data
from qe_papers.learners._network_lanes import Array, LabelledRows, Lanes, epoch, initial_state

_GROUP = 32  # networks that one thread trains at once; whole vectors of any processor
_VALUES = 1 << 20  # activations at once in prediction (8 MB)


@dataclass(repr=False, eq=False)
class MlpEnsemble(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of networks with one hidden layer of tanh units. They differ in their random initialisation.

    n_members, hidden         networks, and hidden units in each
    epochs, batch_size        passes over the data, segments per step
    learning_rate             of Adam, falling linearly to 0
    weight_decay              quadratic penalty per step, decoupled

    All networks see the same batches and are trained in single precision, groups of them side by side; the
    number of threads changes no bit. After fit: `weights_` of k columns, m networks and h units, those
    into the units (k, m h), their biases (m h,), out of them (m, h), biases (m,).

    Source: WMT12 UEdin, Section 4.1 (500 networks, consensus by averaging); Kingma and Ba 2015.
    """

    n_members: Count = 20
    hidden: Count = 10
    epochs: Count = 40
    batch_size: Count = 64
    learning_rate: Positive = 0.005
    weight_decay: NotNegative = 0.01
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        rng = np.random.default_rng(self.seed)
        self.centre_, self.spread_ = float(y.mean()), float(y.std())
        self.weights_ = self._initial(X.shape[1], rng)
        labels = (y - self.centre_) / (self.spread_ or 1.0)
        rows = LabelledRows(*(values.astype(np.float32) for values in (X, labels, weights)))
        apply_to_each(lambda members: self._train(rows, members, deepcopy(rng)), list(self._groups()))
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.asarray(self.predict_members(X).mean(axis=1))

    def predict_members(self, X: Any) -> FloatArray:
        """(n, n_members) what each network says."""
        X = rows_to_predict(self, X)
        size = max(1, _VALUES // self.weights_[2].size)
        blocks = [X[start : start + size] for start in range(0, len(X), size)]
        outputs = np.concatenate([_outputs(self.weights_, block) for block in blocks])
        return np.asarray(outputs * self.spread_ + self.centre_)

    def _initial(self, k: int, rng: np.random.Generator) -> list[Array]:
        m, h = self.n_members, self.hidden
        into = rng.normal(scale=k**-0.5, size=(k, m * h))
        parts = into, np.zeros(m * h), rng.normal(scale=h**-0.5, size=(m, h)), np.zeros(m)
        return [part.astype(np.float32) for part in parts]

    def _groups(self) -> Iterator[slice]:
        for start in range(0, self.n_members, _GROUP):
            yield slice(start, min(start + _GROUP, self.n_members))

    def _train(self, rows: LabelledRows, members: slice, rng: np.random.Generator) -> None:
        n, k = rows.inputs.shape
        each = -(-n // self.batch_size)  # steps in an epoch
        steps = self.epochs * each
        rates = falling_rates(self.learning_rate, steps)
        shrinks = self.learning_rate * self.weight_decay * (1 - np.arange(steps) / steps)
        state, lanes, slopes = initial_state(_lanes(self.weights_, members))
        for number in range(self.epochs):
            order, done = rng.permutation(n), number * each
            epoch(rows, order, self.batch_size, done, rates, shrinks, lanes, slopes, state)
        into, hidden_bias, output, bias = self.weights_
        into.reshape(k, *output.shape)[:, members] = lanes.into.reshape(k, self.hidden, -1).swapaxes(1, 2)
        hidden_bias.reshape(output.shape)[members] = lanes.hidden.reshape(self.hidden, -1).T
        output[members] = lanes.output.reshape(self.hidden, -1).T
        bias[members] = lanes.bias


def _lanes(weights: list[Array], members: slice) -> Lanes:
    into, hidden_bias, output, bias = weights
    k = len(into)
    return Lanes(
        into=into.reshape(k, *output.shape)[:, members].swapaxes(1, 2).reshape(k, -1),
        output=output[members].T.reshape(-1),
        hidden=hidden_bias.reshape(output.shape)[members].T.reshape(-1),
        bias=bias[members],
    )


def _outputs(weights: list[Array], X: FloatArray) -> FloatArray:
    into, hidden_bias, output, bias = weights
    hidden = np.tanh(X @ into + hidden_bias).reshape(len(X), *output.shape)
    return np.asarray(np.einsum("nmh,mh->nm", hidden, output) + bias)


class Mlp(Learner):
    """Averaged small neural networks; MlpEnsemble has the parameters. Deterministic for one `seed`."""

    space: ClassVar[Mapping[str, Distribution]] = {
        "hidden": IntRange(2, 40, log=True),
        "epochs": IntRange(10, 120, log=True),
        "learning_rate": FloatRange(5e-4, 0.03, log=True),
        "weight_decay": FloatRange(1e-4, 10.0, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("qe_papers.learners.mlp_ensemble.MlpEnsemble",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return MlpEnsemble(**{"seed": seed, **params})
