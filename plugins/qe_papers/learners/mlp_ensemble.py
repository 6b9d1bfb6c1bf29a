"""Ensembles of small neural networks."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.array_types import FloatArray, IntArray
from features.basics.hints import Count, NotNegative, Positive, Seed
from features.basics.threads import apply_to_each
from features.word_level import network
from features.word_level.network import State, falling_rates, step
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data

Array = NDArray[Any]

# Fused multiply-add is allowed; division has no check for 0, which would prevent vectorised loops.
_FAST: dict[str, Any] = {
    "cache": True, "nogil": True, "fastmath": {"contract"}, "error_model": "numpy",
}  # fmt: skip


class Lanes(NamedTuple):
    """Parameters, or gradients, of g networks with k inputs and h tanh units (unit j of network m: j g + m).

    into (k, h g), out (h g,)   weights into and out of the units
    hidden (h g,), bias (g,)    biases of the units and of the output
    """

    into: Array
    output: Array
    hidden: Array
    bias: Array


class LabelledRows(NamedTuple):
    inputs: Array
    labels: Array
    weights: Array


def initial_state(lanes: Lanes) -> tuple[State, Lanes, Lanes]:
    """The state before the first step, with views of its parameters and gradients; only weights decay."""
    state, values, gradients = network.initial_state(lanes, lanes.into.size + lanes.output.size)
    return state, Lanes(*values), Lanes(*gradients)


class Schedule(NamedTuple):
    batch: int
    rates: FloatArray
    shrinks: FloatArray


@numba.njit(**_FAST)
def epoch(
    rows: LabelledRows, order: IntArray, schedule: Schedule, completed: int, lanes: Lanes, slopes: Lanes,
    state: State,
) -> None:  # fmt: skip
    """Updates the parameters, views into `state`, batch by batch of the rows in `order` (n,)."""
    batch = schedule.batch
    for start in range(0, len(order), batch):
        taken = order[start : start + batch]
        batch_rows = LabelledRows(rows.inputs[taken], rows.labels[taken], rows.weights[taken])
        batch_gradients(batch_rows, lanes, slopes)
        step(state, schedule.rates[completed], schedule.shrinks[completed])
        completed += 1


@numba.njit(**_FAST)
def batch_gradients(rows: LabelledRows, lanes: Lanes, slopes: Lanes) -> None:
    n, width = len(rows.labels), len(lanes.output)
    units = np.empty((n, width), rows.inputs.dtype)
    errors = np.empty((n, len(lanes.bias)), rows.inputs.dtype)
    _product(rows.inputs, lanes.into, units)
    _tanh(units, lanes.hidden)
    _errors(units, rows, lanes, errors)
    _back(units, errors, lanes, slopes)
    _product(np.ascontiguousarray(rows.inputs.T), units, slopes.into)


@numba.njit(**_FAST)
def _product(matrix: Array, right: Array, output: Array) -> None:
    inner, width = right.shape
    output[:] = 0
    for r in range(0, len(matrix), 2):
        q = min(r + 1, len(matrix) - 1)  # with an odd number of rows, the last one is paired with itself
        one, two = matrix[r], matrix[q]
        a, b = output[r], output[q] if q > r else np.empty_like(output[r])
        k = 0
        while k + 4 <= inner:
            v, w, x, y = right[k], right[k + 1], right[k + 2], right[k + 3]
            a0, a1, a2, a3 = one[k], one[k + 1], one[k + 2], one[k + 3]
            b0, b1, b2, b3 = two[k], two[k + 1], two[k + 2], two[k + 3]
            for c in range(width):
                a[c] += (a0 * v[c] + a1 * w[c]) + (a2 * x[c] + a3 * y[c])
                b[c] += (b0 * v[c] + b1 * w[c]) + (b2 * x[c] + b3 * y[c])
            k += 4
        while k < inner:
            v, a0, b0 = right[k], one[k], two[k]
            for c in range(width):
                a[c] += a0 * v[c]
                b[c] += b0 * v[c]
            k += 1


@numba.njit(**_FAST)
def _tanh(units: Array, bias: Array) -> None:
    kind = units.dtype.type
    most = kind(7.90531110763549805)
    for r in range(len(units)):
        row = units[r]  # (`for row in units` would not be vectorised)
        for c in range(len(row)):
            x = max(-most, min(most, row[c] + bias[c]))
            s = x * x
            p = kind(2.00018790482477e-13) - s * kind(2.76076847742355e-16)
            p = s * p - kind(8.60467152213735e-11)
            p = s * p + kind(5.12229709037114e-08)
            p = s * p + kind(1.48572235717979e-05)
            p = s * p + kind(6.37261928875436e-04)
            p = s * p + kind(4.89352455891786e-03)
            q = s * kind(1.19825839466702e-06) + kind(1.18534705686654e-04)
            q = s * q + kind(2.26843463243900e-03)
            q = s * q + kind(4.89352518554385e-03)
            row[c] = x * p / q


@numba.njit(**_FAST)
def _errors(units: Array, rows: LabelledRows, lanes: Lanes, errors: Array) -> None:
    n, g = errors.shape
    for r in range(n):
        row, error, label = units[r], errors[r], rows.labels[r]
        for m in range(g):
            error[m] = lanes.bias[m]
        for j in range(0, len(row), g):
            unit, output = row[j : j + g], lanes.output[j : j + g]
            for m in range(g):
                error[m] += unit[m] * output[m]
        weight = rows.weights[r] / units.dtype.type(n)
        for m in range(g):
            error[m] = (error[m] - label) * weight


@numba.njit(**_FAST)
def _back(units: Array, errors: Array, lanes: Lanes, slopes: Lanes) -> None:
    one, g = units.dtype.type(1), errors.shape[1]
    slopes.output[:], slopes.hidden[:], slopes.bias[:] = 0, 0, 0
    for r in range(len(units)):
        row, error = units[r], errors[r]
        for m in range(g):
            slopes.bias[m] += error[m]
        for j in range(0, len(row), g):
            unit, output = row[j : j + g], lanes.output[j : j + g]
            by_out, by_bias = slopes.output[j : j + g], slopes.hidden[j : j + g]
            for m in range(g):
                by_out[m] += error[m] * unit[m]
                unit[m] = error[m] * output[m] * (one - unit[m] * unit[m])
                by_bias[m] += unit[m]


_GROUP = 32  # networks trained at once by a thread; a multiple of any processor's vector length
_VALUES = 1 << 20  # activations per block in prediction (8 MB)


@dataclass(repr=False, eq=False)
class MlpEnsemble(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of networks with one hidden layer of tanh units and different random initialisation.

    n_members, hidden         networks, and hidden units in each
    epochs, batch_size        passes over the data, segments per step
    learning_rate             initial rate of Adam, decreasing linearly to 0
    weight_decay              quadratic penalty per step, decoupled

    All networks use the same batches and single precision, and are trained in groups; results are
    bit-identical for any number of threads. After fit: `weights_` for k columns, m networks and h units: into
    the units (k, m h), their biases (m h,), out of them (m, h), biases (m,).

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
        k, m, h = X.shape[1], self.n_members, self.hidden
        into = rng.normal(scale=k**-0.5, size=(k, m * h))
        parts = into, np.zeros(m * h), rng.normal(scale=h**-0.5, size=(m, h)), np.zeros(m)
        self.weights_ = [part.astype(np.float32) for part in parts]
        labels = (y - self.centre_) / (self.spread_ or 1.0)
        rows = LabelledRows(*(values.astype(np.float32) for values in (X, labels, weights)))
        groups = [slice(start, min(start + _GROUP, m)) for start in range(0, m, _GROUP)]
        apply_to_each(lambda members: self._train(rows, members, deepcopy(rng)), groups)
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.asarray(self.predict_members(X).mean(axis=1))

    def predict_members(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        into, hidden_bias, output, bias = self.weights_
        size = max(1, _VALUES // output.size)
        outputs = list[FloatArray]()
        for block in (X[start : start + size] for start in range(0, len(X), size)):
            hidden = np.tanh(block @ into + hidden_bias).reshape(len(block), *output.shape)
            outputs.append(np.einsum("nmh,mh->nm", hidden, output) + bias)
        return np.asarray(np.concatenate(outputs) * self.spread_ + self.centre_)

    def _train(self, rows: LabelledRows, members: slice, rng: np.random.Generator) -> None:
        n, k = rows.inputs.shape
        each = -(-n // self.batch_size)  # steps in an epoch
        steps = self.epochs * each
        shrinks = self.learning_rate * self.weight_decay * (1 - np.arange(steps) / steps)
        schedule = Schedule(self.batch_size, falling_rates(self.learning_rate, steps), shrinks)
        into, hidden_bias, output, bias = self.weights_
        own = Lanes(
            into=into.reshape(k, *output.shape)[:, members].swapaxes(1, 2).reshape(k, -1),
            output=output[members].T.reshape(-1),
            hidden=hidden_bias.reshape(output.shape)[members].T.reshape(-1),
            bias=bias[members],
        )
        state, lanes, slopes = initial_state(own)
        for number in range(self.epochs):
            order, done = rng.permutation(n), number * each
            epoch(rows, order, schedule, done, lanes, slopes, state)
        into.reshape(k, *output.shape)[:, members] = lanes.into.reshape(k, self.hidden, -1).swapaxes(1, 2)
        hidden_bias.reshape(output.shape)[members] = lanes.hidden.reshape(self.hidden, -1).T
        output[members] = lanes.output.reshape(self.hidden, -1).T
        bias[members] = lanes.bias


class Mlp(Learner):
    """Averaged small neural networks; see MlpEnsemble. Deterministic for one `seed`."""

    regressor = MlpEnsemble
    space: ClassVar[Mapping[str, Distribution]] = {
        "hidden": IntRange(2, 40, log=True),
        "epochs": IntRange(10, 120, log=True),
        "learning_rate": FloatRange(5e-4, 0.03, log=True),
        "weight_decay": FloatRange(1e-4, 10.0, log=True),
    }
