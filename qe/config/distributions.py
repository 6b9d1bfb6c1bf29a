"""Distributions: where a search draws a parameter from.

They are plain values, without a search library.
"""

from dataclasses import dataclass
from typing import Any


class Distribution:
    """Base of `FloatRange`, `IntRange` and `Choice`."""


@dataclass(frozen=True)
class FloatRange(Distribution):
    """Real numbers from `low` to `high`, both included; `log`: drawn evenly on a logarithmic scale.

    Raises ValueError for limits or steps that make no range.

    Parameters
    ----------
    step : float or None, default=None
        Distance between values that are drawn; None: any value.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.log, None if self.step is None else float(self.step))
        if self.log and self.step is not None:
            raise ValueError("a logarithmic range of real numbers takes no step")


@dataclass(frozen=True)
class IntRange(Distribution):
    """Whole numbers from `low` to `high`, both included, `step` apart.

    Raises ValueError for limits or steps that make no range.
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.log, self.step)
        if self.log and self.step != 1:
            raise ValueError(f"a logarithmic range of whole numbers takes no step, but got step={self.step}")


@dataclass(frozen=True)
class Choice(Distribution):
    """One of several values: None, booleans, numbers or texts. Raises ValueError for none."""

    choices: tuple[Any, ...]

    def __init__(self, choices: Any) -> None:
        if not choices:
            raise ValueError("a choice needs at least one value")
        object.__setattr__(self, "choices", tuple(choices))


def _check(low: float, high: float, log: bool, step: float | None) -> None:
    if not low <= high:
        raise ValueError(f"`low <= high` must hold, but got (low={low}, high={high})")
    if log and low <= 0:
        raise ValueError(f"a logarithmic range begins above 0, but got low={low}")
    if step is not None and step <= 0:
        raise ValueError(f"`step` must be positive, but got {step}")
