"""Distributions: where a search draws a parameter from, as plain values without a search library."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from features.basics.errors import InputError

if TYPE_CHECKING:
    import optuna


class Distribution(ABC):
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
class _Range(Distribution):
    """Numbers from `low` to `high`, both included; `log`: drawn evenly on a logarithmic scale."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"`low <= high` must hold, but got (low={self.low}, high={self.high})")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range begins above 0, but got low={self.low}")
        if self.step is not None and self.step <= 0:
            raise ValueError(f"`step` must be positive, but got {self.step}")
        if self.log and self.step != type(self).step:
            raise ValueError(f"a logarithmic range takes no step, but got step={self.step}")

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class FloatRange(_Range):
    """Real numbers from `low` to `high`, both included; `log`: drawn evenly on a logarithmic scale.

    Parameters
    ----------
    step : float or None, default=None
        Distance between values that are drawn; None: any value.
    """

    def draw(self, trial: "optuna.trial.BaseTrial", name: str) -> float:
        return trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)


@dataclass(frozen=True)
class IntRange(_Range):
    """Whole numbers from `low` to `high`, both included, `step` apart."""

    low: int
    high: int
    step: int = 1

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


def parse_distribution(value: Any, location: str) -> Distribution:
    """A list is a choice; `{low, high, log, step}` a range, of whole numbers if both ends are.

    >>> parse_distribution({"low": 0.1, "high": 10, "log": True}, "learner.space.C")
    FloatRange(low=0.1, high=10.0, log=True, step=None)
    """
    if isinstance(value, list) and value:
        return Choice(value)
    if isinstance(value, Mapping) and {"low", "high"} <= set(value) <= {"low", "high", "log", "step"}:
        low, high = value["low"], value["high"]
        whole = isinstance(low, int) and isinstance(high, int)
        try:
            if whole:
                return IntRange(low, high, bool(value.get("log", False)), int(value.get("step", 1)))
            return FloatRange(float(low), float(high), bool(value.get("log", False)), value.get("step"))
        except (TypeError, ValueError) as error:
            raise InputError(str(error), location=location) from None
    raise InputError(
        f"not a search space: {value!r}",
        location=location,
        remedy="give a list of choices or {low: .., high: .., log: true|false, step: ..}",
    )


def parse_space(space: Mapping[str, Any], location: str) -> dict[str, Distribution]:
    """Parameter -> distribution; the entries of a mapping within are named `parameter.entry`.

    >>> sorted(parse_space({"C": [1, 2], "use": {"lm": [True, False]}}, "selection.space"))
    ['C', 'use.lm']
    """
    distributions: dict[str, Distribution] = {}
    for name, value in space.items():
        if (
            isinstance(value, Mapping)
            and value
            and all(isinstance(v, (list, Mapping)) for v in value.values())
        ):
            inner = parse_space(value, f"{location}.{name}")
            distributions |= {f"{name}.{entry}": distribution for entry, distribution in inner.items()}
        else:
            distributions[name] = parse_distribution(value, f"{location}.{name}")
    return distributions


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drawn values by parameter; `use.lm` is the entry `lm` of the mapping `use`.

    >>> nested({"C": 1, "use.lm": True, "use.ibm1": False})
    {'C': 1, 'use': {'lm': True, 'ibm1': False}}
    """
    result: dict[str, Any] = {}
    for name, value in values.items():
        parameter, _, entry = name.partition(".")
        if entry:
            result.setdefault(parameter, {})[entry] = value
        else:
            result[name] = value
    return result
