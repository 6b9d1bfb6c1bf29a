"""Undefined numbers: NaN in arrays, null in JSON."""

import math


def finite_or_none(value: float) -> float | None:
    """The number as JSON can hold it: None for NaN, and for what is not finite.

    >>> finite_or_none(0.5), finite_or_none(float("nan")), finite_or_none(float("inf"))
    (0.5, None, None)
    """
    return float(value) if math.isfinite(value) else None
