"""Small networks trained side by side in compiled code, while the interpreter is free. The numbers of g
networks are adjacent in memory, so that the processor's vectors hold as many networks as they can.
Products of matrices are loops, not BLAS's: no digit depends on how many threads there are.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, IntArray
from features.word_level import network
from features.word_level.network import State, step

Array = NDArray[Any]

# A sum is rounded once less; division is as in C: its check for 0 would keep loops from being vectorised.
_FAST: dict[str, Any] = {
    "cache": True, "nogil": True, "fastmath": {"contract"}, "error_model": "numpy",
}  # fmt: skip


class Lanes(NamedTuple):
    """Parameters, or gradients, of g networks of k inputs and h tanh units.

    [..., j g + m] is of unit j of network m.

    into (k, h g), out (h g,)   weights into and out of the units
    hidden (h g,), bias (g,)    biases of the units and of the output
    """

    into: Array
    output: Array
    hidden: Array
    bias: Array


class LabelledRows(NamedTuple):
    """n rows and what is learned of them: inputs (n, k), labels (n,), weights (n,)."""

    inputs: Array
    labels: Array
    weights: Array


def initial_state(lanes: Lanes) -> tuple[State, Lanes, Lanes]:
    """The state before the first step, with views of its parameters and gradients. Weights decay, biases do
    not.

    >>> state, parameters, _ = initial_state(Lanes(np.ones((2, 2)), np.ones(2), np.zeros(2), np.zeros(2)))
    >>> parameters.output[:] = 7
    >>> state.values.tolist(), state.decaying
    ([1.0, 1.0, 1.0, 1.0, 7.0, 7.0, 0.0, 0.0, 0.0, 0.0], 6)
    """
    state, values, gradients = network.initial_state(lanes, lanes.into.size + lanes.output.size)
    return state, Lanes(*values), Lanes(*gradients)


@numba.njit(**_FAST)
def epoch(
    rows: LabelledRows,
    order: IntArray,
    batch: int,
    completed: int,
    rates: FloatArray,
    shrinks: FloatArray,
    lanes: Lanes,
    slopes: Lanes,
    state: State,
) -> None:
    """Changes the parameters in place, by one batch of rows after the other.

    order          (n,) the rows; a batch has the next `batch` of them
    done           steps of earlier epochs
    rates, shrinks (steps,) of Adam, those of earlier epochs too
    lanes, slopes  views into `state`: parameters, gradients
    """
    for start in range(0, len(order), batch):
        taken = order[start : start + batch]
        batch_rows = LabelledRows(rows.inputs[taken], rows.labels[taken], rows.weights[taken])
        batch_gradients(batch_rows, lanes, slopes)
        step(state, rates[completed], shrinks[completed])
        completed += 1


@numba.njit(**_FAST)
def batch_gradients(rows: LabelledRows, lanes: Lanes, slopes: Lanes) -> None:
    """Writes the gradients of half the mean squared error of each network into `slopes`. Rows are weighted
    by their importance.
    """
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
        q = min(r + 1, len(matrix) - 1)  # of an odd number of rows, the last is its own pair
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
        row = units[r]  # (of `for row in units` no vectors are made)
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
        error[:] = lanes.bias
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
