"""Gradients against differences of the loss."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


def check_gradient(
    loss: Callable[[], float],
    values: NDArray[Any],
    gradient: NDArray[Any],
    tolerance: float,
    places: Iterable[int] | None = None,
) -> None:
    """The gradient is that of `loss`, which reads `values`: central differences at all or some places."""
    flat, slopes, by = values.reshape(-1), gradient.reshape(-1), 1e-6
    assert np.shares_memory(flat, values)
    for place in range(flat.size) if places is None else places:
        kept = flat[place]
        flat[place] = kept + by
        above = loss()
        flat[place] = kept - by
        below = loss()
        flat[place] = kept
        assert slopes[place] == pytest.approx((above - below) / (2 * by), abs=tolerance)
