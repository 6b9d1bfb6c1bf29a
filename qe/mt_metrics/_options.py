"""Metrics as written on the command line: `name` or `name:option=value,option=value`."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from features.core.errors import InputError
from qe.mt_metrics._base import MT_METRICS, TextMetric

_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def metric(text: str, defaults: Mapping[str, Any] | None = None) -> TextMetric:
    """The metric that `text` names; `defaults` hold for the options that it has and `text` leaves open.

    Raises InputError for unknown names, options or values, with the known ones.

    >>> metric("chrf:word_order=2", {"tokenize": "13a"})
    Chrf(order=6, word_order=2, beta=2.0, lowercase=False, white_space=False)
    """
    name, _, tail = text.partition(":")
    kind: Any = MT_METRICS.get(name)
    hints = get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]
    options = {key: value for key, value in (defaults or {}).items() if key in known}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if key not in known or not equals:
            raise InputError(
                f"unknown option '{part}'", where=f"metric '{name}'", remedy=f"known: {', '.join(known)}"
            )
        options[key] = _value(value, hints[key], f"option '{key}' of metric '{name}'")
    made: TextMetric = kind(**options)
    return made


def _value(text: str, hint: Any, where: str) -> Any:
    if get_origin(hint) is Literal:
        if text in get_args(hint):
            return text
        raise InputError(f"unknown value '{text}'", where=where, remedy=f"known: {', '.join(get_args(hint))}")
    try:
        return _TRUTH[text.lower()] if hint is bool else hint(text)
    except (KeyError, ValueError):
        raise InputError(f"expected {hint.__name__}, but got '{text}'", where=where) from None
