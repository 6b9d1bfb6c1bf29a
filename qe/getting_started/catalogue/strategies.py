"""Learners and selectors: what each is, its parameters, and how it did where it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.basics.catalogue import Catalogue
from features.storage import strict_yaml
from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.display.numbers import general, number
from qe.display.table import Column, Table
from qe.learning.parameters import Parameters, constructor

FIGURES = Path(__file__).with_name("measured.yaml")


@dataclass(frozen=True)
class Measured:
    """MAE on WMT12's 17 features and the demo's: with defaults, after ten trials; CPU seconds of a fit."""

    mae: tuple[float, float]
    searched: tuple[float, float] | None
    seconds: tuple[float, float]

    @property
    def sentence(self) -> str:
        first, second = (number(value) for value in self.mae)
        text = f"Measured: MAE {first} on WMT12, {second} on the demo's data"
        if self.searched:
            text += f" ({number(self.searched[0])}, {number(self.searched[1])} after a search)"
        return text + f"; a fit takes {self.seconds[0]:g} and {self.seconds[1]:g} CPU seconds."


def measured(noun: str) -> Mapping[str, Measured]:
    """The learners or selectors that were measured, by name. Others read something else than features."""
    rows = strict_yaml.read_mapping(FIGURES, "table of measurements")[f"{noun}s"].items()
    return {name: Measured(*(pair and tuple(pair) for pair in figures)) for name, figures in rows}


def first(noun: str) -> Sequence[str]:
    content = strict_yaml.read_mapping(FIGURES, "table of measurements")
    return list(map(str, content["first"][f"{noun}s"]))


@dataclass(frozen=True)
class Parameter:
    """A parameter; `space` is empty if it is not searched by default."""

    name: str
    default: Any
    space: str


@dataclass(frozen=True)
class Strategy:
    name: str
    about: str
    documentation: str
    parameters: tuple[Parameter, ...]
    measured: Measured | None = None


def strategies(catalogue: Catalogue[Any]) -> list[Strategy]:
    return [strategy(catalogue, name) for name in catalogue.names]


def strategy(catalogue: Catalogue[Any], name: str) -> Strategy:
    """One of a catalogue. Raises InputError for an unknown name."""
    make, parameters = constructor(catalogue, name), []
    defaults, space = make().get_params(deep=False), catalogue.get(name).space
    for parameter in Parameters.from_constructor(make, name).names:
        searched = [
            distribution_text(one) for key, one in space.items() if key.partition(".")[0] == parameter
        ]
        default = defaults.get(parameter)
        if not isinstance(default, str | int | float | list | None):
            default = str(default)
        parameters.append(Parameter(parameter, default, "; ".join(searched)))
    figures, about = measured(catalogue.noun).get(name), catalogue.purpose(name)
    return Strategy(name, about, catalogue.documentation(name), tuple(parameters), figures)


def distribution_text(distribution: Distribution) -> str:
    """The values that a search draws from, in words.

    >>> ranges = IntRange(1, 9), FloatRange(0.1, 1.0, log=True), Choice(["a", "b"])
    >>> [*map(distribution_text, ranges)]
    ['1 to 9', '0.1 to 1, logarithmic', 'a, b']
    """
    if isinstance(distribution, Choice):
        return ", ".join(map(str, distribution.choices))
    assert isinstance(distribution, FloatRange | IntRange)
    text = f"{general(distribution.low)} to {general(distribution.high)}"
    return f"{text}, logarithmic" if distribution.log else text


def listing(catalogue: Catalogue[Any]) -> Table:
    titles = (
        Column(catalogue.noun),
        Column("what it is"),
        Column("searched", drop=2),
        Column("fit, s", drop=1),
    )
    rows = []
    for one in strategies(catalogue):
        searched = ", ".join(p.name for p in one.parameters if p.space)
        rows.append([one.name, one.about, searched, number(one.measured.seconds[0]) if one.measured else ""])
    notes = [
        f"To try first: {', '.join(first(catalogue.noun))}.",
        "fit, s: CPU seconds for 1,466 rows of 17 features (docs/results/learners.md).",
    ]
    return Table("", titles, rows, notes)


def parameters_table(entry: Strategy) -> Table:
    columns = [Column("parameter"), Column("default"), Column("searched by default", "space", drop=1)]
    notes = [entry.measured.sentence] if entry.measured else []
    return Table("", columns, [[p.name, str(p.default), p.space] for p in entry.parameters], notes)
