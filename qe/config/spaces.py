"""Search spaces: from the experiment file's words to distributions."""

from collections.abc import Mapping
from typing import Any

from features.basics.errors import InputError
from qe.config.distributions import Choice, Distribution, FloatRange, IntRange


def parse_distribution(value: Any, location: str) -> Distribution:
    """A list is a choice; `{low, high, log, step}` a range, of whole numbers if both ends are.

    Raises InputError, naming the key, for anything else.

    >>> parse_distribution([1, 2], "learner.space.C")
    Choice(choices=(1, 2))
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
