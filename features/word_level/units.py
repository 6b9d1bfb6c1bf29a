"""Compiled steps of both kinds of network: units, errors of guesses, sums."""

import math
from typing import Any

import numba
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit(cache=True, nogil=True)
def rectify(units: Array, bias: Array) -> None:
    zero = units.dtype.type(0)
    for i in range(units.shape[0]):
        for j in range(units.shape[1]):
            units[i, j] = max(units[i, j] + bias[j], zero)


@numba.njit(cache=True, nogil=True)
def guess_errors(logits: Array, bias: float, bad: Array) -> None:
    """(logistic(logit + bias) - bad) / n, in place. The gradient of the mean cross-entropy by each logit."""
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
