"""Adam, compiled: steps of all parameters at once, the rate falling to 0.

Kingma and Ba 2015.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class State(NamedTuple):
    """All p parameters in a row, their gradients, and their moments: (p,) each. The first `decaying` of them
    decay.
    """

    values: Array
    gradients: Array
    first: Array
    second: Array
    decaying: int


def initial_state(parameters: Sequence[Array], decaying: int = 0) -> tuple[State, list[Array], list[Array]]:
    """The state before the first step, and views into it shaped like the parameters. The views are values and
    gradients.

    >>> state, (matrix, bias), _ = initial_state([np.ones((2, 2)), np.zeros(1)])
    >>> matrix[0, 1] = 7
    >>> state.values.tolist()
    [1.0, 7.0, 1.0, 1.0, 0.0]
    """
    values = np.concatenate([parameter.reshape(-1) for parameter in parameters])
    gradients, first, second = (np.zeros_like(values) for _ in range(3))
    state = State(values, gradients, first, second, decaying)
    ends = np.cumsum([parameter.size for parameter in parameters])[:-1]

    def views(flat: Array) -> list[Array]:
        parts = np.split(flat, ends)
        return [part.reshape(like.shape) for part, like in zip(parts, parameters, strict=True)]

    return state, views(state.values), views(state.gradients)


def falling_rates(first: float, steps: int) -> NDArray[np.float64]:
    """(steps,) rates that fall evenly to 0, with the correction of the bias of both moments.

    >>> falling_rates(0.1, 2).round(4).tolist()
    [0.0316, 0.0118]
    """
    done = np.arange(steps)
    correction = np.sqrt(1 - 0.999 ** (done + 1)) / (1 - 0.9 ** (done + 1))
    return np.asarray(first * (1 - done / steps) * correction, np.float64)


# Division as in C: its check for 0 would keep the loop from being vectorised.
@numba.njit(cache=True, nogil=True, error_model="numpy")
def step(state: State, rate: float, shrink: float) -> None:
    """Changes the parameters in place.

    rate    with the correction of the bias
    shrink  share of themselves that decaying parameters lose (decoupled: Loshchilov and Hutter 2019)
    """
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
