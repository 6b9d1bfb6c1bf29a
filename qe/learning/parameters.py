"""Parameters of learners and selectors: names, types and ranges, checked before fitting."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, get_type_hints

from annotated_types import MinLen
from sklearn.base import BaseEstimator

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, did_you_mean, quoted
from features.basics.hints import Check, Mistake, mistakes
from features.basics.plugins import missing
from qe.config.distributions import parse_space

_NOT_IN_YAML = ("callable", "random", "RandomState", "ndarray")  # types that scikit-learn accepts in addition


Grid = Mapping[str, Annotated[Sequence[Any], MinLen(1)]]  # parameter -> values to try


@dataclass(frozen=True)
class NameIn(Check):
    """Annotation `Annotated[str, ...]` of a name in a catalogue."""

    catalogue: Catalogue[Any]

    def mistakes(self, value: Any, place: str) -> Iterator[Mistake]:
        if value not in self.catalogue:
            yield place, str(self.catalogue.unknown(value))


@dataclass(frozen=True)
class StrategyIn(Check):
    """Annotation `Annotated[Mapping[str, Any], ...]` of a strategy, `{kind: NAME, parameter: value}`.

    fixed  parameters that must not be set, because the owner sets them
    """

    catalogue: Catalogue[Any]
    fixed: tuple[str, ...] = ()

    def mistakes(self, value: Any, place: str) -> Iterator[Mistake]:
        if "kind" not in value:
            yield place, f"needs a `kind`, but got {quoted(value)}"
            return
        params = {name: given for name, given in value.items() if name != "kind"}
        for name in self.fixed:
            if params.pop(name, None) is not None:
                yield f"{place}.{name}", "is given by what it is a part of; leave it out"
        yield from strategy_mistakes(self.catalogue, value["kind"], params, None, place, place)


def strategy_mistakes(
    catalogue: Catalogue[Any],
    kind: Any,
    params: Mapping[str, Any],
    space: Mapping[str, Any] | None,
    place: str,
    inside: str,
) -> Iterator[Mistake]:
    if kind not in catalogue:
        yield f"{place}.kind", str(catalogue.unknown(kind))
        return
    try:
        make = constructor(catalogue, kind)
        known = Parameters.from_constructor(make, f"{catalogue.noun} '{kind}'")
    except ModuleNotFoundError as error:
        yield f"{place}.kind", str(missing(str(error.name)))
        return
    wrong = list(known.mistakes(params, inside))
    yield from wrong
    if space:
        yield from known.space_mistakes(space, f"{place}.space")
    if wrong:
        return
    # Combinations of valid parameters, such as two that exclude each other.
    made = make(**params)
    taken = made.get_params(deep=False)
    for name, value in params.items():
        if name in taken and taken[name] is not value and taken[name] != value:
            yield f"{inside}.{name}", f"the {known.owner} sets it to {quoted(taken[name])}; leave it out"
    if hasattr(made, "check_parameters"):
        try:
            made.check_parameters()
        except InputError as error:
            yield inside, str(error)


def constructor(catalogue: Catalogue[Any], kind: str) -> Callable[..., BaseEstimator]:
    """The class or function that creates a learner's estimator, or a selector, from its parameters."""
    strategy = catalogue.get(kind)
    return strategy if issubclass(strategy, BaseEstimator) else strategy().estimator


@dataclass(frozen=True)
class Parameters:
    """Parameters that a strategy's estimator accepts, by annotations (bounds by `Annotated`) or constraints.

    The estimator's `check_parameters` checks combinations.
    """

    owner: str
    names: tuple[str, ...]
    hints: Mapping[str, Any]
    constraints: Mapping[str, Any]

    @classmethod
    def from_constructor(cls, make: Callable[..., BaseEstimator], owner: str) -> "Parameters":
        default = make()
        kind: Any = type(default)
        stated = getattr(kind, "stated", {})
        hints = {**get_type_hints(kind.__init__, include_extras=True), **stated}
        names = {**default.get_params(deep=False), **stated}
        return cls(owner, tuple(names), hints, getattr(kind, "_parameter_constraints", {}))

    def mistakes(self, params: Mapping[str, Any], place: str) -> Iterator[Mistake]:
        for name, value in params.items():
            yield from self.value_mistakes(name, value, f"{place}.{name}")

    def value_mistakes(self, name: str, value: Any, place: str) -> Iterator[Mistake]:
        if name not in self.names:
            remedy = f"known: {', '.join(self.names) or 'none'}{did_you_mean(str(name), self.names)}"
            yield place, f"the {self.owner} has no such parameter; {remedy}"
        elif name in self.hints:
            yield from mistakes(value, self.hints[name], place)
        elif name in self.constraints:
            yield from _of_scikit_learn(value, self.constraints[name], place)

    def space_mistakes(self, space: Mapping[str, Any], place: str) -> Iterator[Mistake]:
        for name, written in space.items():
            try:
                entries = parse_space({name: written}, place)
            except InputError as error:
                yield str(error.location), str(InputError(error.problem, remedy=error.remedy))
                continue
            for entry, distribution in entries.items():
                parameter, _, inner = entry.partition(".")
                values = [{inner: value} if inner else value for value in distribution.ends]
                wrong = (self.value_mistakes(parameter, value, f"{place}.{parameter}") for value in values)
                yield from islice(chain.from_iterable(wrong), 1)


def _of_scikit_learn(value: Any, constraints: Any, place: str) -> Iterator[Mistake]:
    from sklearn.utils._param_validation import make_constraint

    if isinstance(constraints, str):  # "no_validation"
        return
    # An experiment has one label, so a number replaces lists with one value per label.
    allowed = [
        make_constraint(each) for each in constraints if not isinstance(each, str) or each != "array-like"
    ]
    satisfied = [constraint for constraint in allowed if constraint.is_satisfied_by(value)]
    if isinstance(value, bool):
        satisfied = [constraint for constraint in satisfied if "bool" in str(constraint)]
    elif isinstance(value, float) and not math.isfinite(value):
        satisfied = []
    if not satisfied:
        words = [str(c) for c in allowed if not c.hidden and not any(sign in str(c) for sign in _NOT_IN_YAML)]
        yield place, f"must be {' or '.join(words)}, but got {quoted(value)}"


def estimator_mistakes(kind: type[BaseEstimator], params: Mapping[str, Any], place: str) -> Iterator[Mistake]:
    yield from Parameters.from_constructor(kind, kind.__name__).mistakes(params, place)
