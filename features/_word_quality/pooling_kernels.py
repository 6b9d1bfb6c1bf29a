"""Compiled steps of training a pooling network: gathering, pooling and its gradients, Adam.

What is a product of matrices is left to BLAS.
"""

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features._word_quality.columns import Longs

Array = NDArray[Any]


@numba.njit(cache=True, nogil=True)
def gather(inputs: Array, tokens: Longs, columns: Longs, into: Array) -> None:
    """Some columns of some tokens: `into` (len(tokens), len(columns))."""
    for i in range(len(tokens)):
        row = inputs[tokens[i]]
        for j in range(len(columns)):
            into[i, j] = row[columns[j]]


@numba.njit(cache=True, nogil=True)
def rectify(units: Array, bias: Array) -> None:
    """max(units + bias, 0), in place."""
    zero = units.dtype.type(0)
    for i in range(units.shape[0]):
        for j in range(units.shape[1]):
            units[i, j] = max(units[i, j] + bias[j], zero)


@numba.njit(cache=True, nogil=True)
def pool(hidden: Array, score: Array, offsets: Longs, pooled: Array) -> None:
    """The means of `hidden` (n_tokens, t) over every text, plain and by attention: `pooled` (n, 2 t).

    `score` becomes the attention: its softmax over the text.
    """
    width = hidden.shape[1]
    pooled[:] = 0
    for text in range(len(offsets) - 1):
        first, last = offsets[text], offsets[text + 1]
        highest = score[first:last].max()
        total = 0.0
        for i in range(first, last):
            score[i] = math.exp(score[i] - highest)
            total += score[i]
        share = hidden.dtype.type(1 / (last - first))
        for i in range(first, last):
            score[i] /= total
            for j in range(width):
                pooled[text, j] += share * hidden[i, j]
                pooled[text, width + j] += score[i] * hidden[i, j]


@numba.njit(cache=True, nogil=True)
def unpool(
    hidden: Array,
    attention: Array,
    offsets: Longs,
    attended: Array,
    gradient: Array,
    weights: Array,
    wrong: Array,
    bad: Array,
    tokens: Array,
    score: Array,
) -> None:
    """Gradients before the ReLU of tokens (`tokens`) and of their scores (`score`).

    attended, gradient  (n, t) the means by attention; (n, 2 t) the gradients of both means
    weights             (t,) of attention
    wrong, bad          (n_tokens,) errors of the guesses about tokens; (t,) weights of these guesses
    """
    width = hidden.shape[1]
    zero = hidden.dtype.type(0)
    for text in range(len(offsets) - 1):
        first, last = offsets[text], offsets[text + 1]
        share = hidden.dtype.type(1 / (last - first))
        whole = zero
        for j in range(width):
            whole += attended[text, j] * gradient[text, width + j]
        for i in range(first, last):
            along = zero
            for j in range(width):
                along += hidden[i, j] * gradient[text, width + j]
            score[i] = attention[i] * (along - whole)
            for j in range(width):
                through = share * gradient[text, j] + attention[i] * gradient[text, width + j]
                through += score[i] * weights[j] + wrong[i] * bad[j]
                tokens[i, j] = through if hidden[i, j] > 0 else zero


@numba.njit(cache=True, nogil=True)
def adam(values: Array, gradient: Array, first: Array, second: Array, rate: float) -> None:
    """One step of Adam (Kingma and Ba 2015) on flat arrays, in place; `rate` has the bias correction."""
    kind = values.dtype.type
    slow, slower, small, step = kind(0.1), kind(0.001), kind(1e-8), kind(rate)
    for i in range(len(values)):
        first[i] += slow * (gradient[i] - first[i])
        second[i] += slower * (gradient[i] * gradient[i] - second[i])
        values[i] -= step * first[i] / (np.sqrt(second[i]) + small)
