"""Measured errors and seconds of learners and selectors (docs/results/learners.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.storage import strict_yaml
from qe.display.numbers import number

FIGURES = Path(__file__).with_name("measured.yaml")


@dataclass(frozen=True)
class Measured:
    """Figures on two data sets: WMT12's 17 features, and the demo's.

    mae       with its defaults, by cross-validation
    searched  after ten trials of its own space; None if there is nothing to search
    seconds   CPU seconds of a fit with the defaults
    """

    mae: tuple[float, float]
    searched: tuple[float, float] | None
    seconds: tuple[float, float]

    @property
    def sentence(self) -> str:
        """One sentence for people."""
        first, second = (number(value) for value in self.mae)
        text = f"Measured: MAE {first} on WMT12, {second} on the demo's data"
        if self.searched:
            text += f" ({number(self.searched[0])}, {number(self.searched[1])} after a search)"
        return text + f"; a fit takes {self.seconds[0]:g} and {self.seconds[1]:g} CPU seconds."


def measured(noun: str) -> Mapping[str, Measured]:
    """The learners or selectors that were measured, by name.

    Others read something else than features.
    """
    return {name: Measured(*map(_pair, figures)) for name, figures in _content()[f"{noun}s"].items()}


def first(noun: str) -> Sequence[str]:
    """The names to try first."""
    return list(map(str, _content()["first"][f"{noun}s"]))


def _content() -> Mapping[str, Any]:
    return strict_yaml.read_mapping(FIGURES, "table of measurements")


def _pair(values: Any) -> Any:
    return tuple(values) if values else None
