"""Distributions: where a search draws a parameter from.

They are plain values, without a search library.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from features.basics.errors import InputError

if TYPE_CHECKING:
    import optuna


class Distribution(ABC):
    """Base of `FloatRange`, `IntRange` and `Choice`."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Any, ...]:
        """The values of a choice, or the limits of a range: if these are allowed, all between are."""

    @abstractmethod
    def draw(self, trial: "optuna.trial.BaseTrial", name: str) -> Any:
        """One value for the parameter `name`."""

    def grid(self, name: str) -> list[Any]:
        """All values, for an exhaustive search. Raises InputError for a continuous range."""
        raise InputError(f"a grid needs a list of values for '{name}', not a continuous range")


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

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def draw(self, trial: "optuna.trial.BaseTrial", name: str) -> float:
        return trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)


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

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def draw(self, trial: "optuna.trial.BaseTrial", name: str) -> int:
        return trial.suggest_int(name, self.low, self.high, step=self.step, log=self.log)

    def grid(self, name: str) -> list[int]:
        return super().grid(name) if self.log else list(range(self.low, self.high + 1, self.step))


@dataclass(frozen=True)
class Choice(Distribution):
    """One of several values: None, booleans, numbers or texts. Raises ValueError for none."""

    choices: tuple[Any, ...]

    def __init__(self, choices: Any) -> None:
        if not choices:
            raise ValueError("a choice needs at least one value")
        object.__setattr__(self, "choices", tuple(choices))

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.choices

    def draw(self, trial: "optuna.trial.BaseTrial", name: str) -> Any:
        return trial.suggest_categorical(name, self.choices)

    def grid(self, name: str) -> list[Any]:
        return list(self.choices)


def _check(low: float, high: float, log: bool, step: float | None) -> None:
    if not low <= high:
        raise ValueError(f"`low <= high` must hold, but got (low={low}, high={high})")
    if log and low <= 0:
        raise ValueError(f"a logarithmic range begins above 0, but got low={low}")
    if step is not None and step <= 0:
        raise ValueError(f"`step` must be positive, but got {step}")
