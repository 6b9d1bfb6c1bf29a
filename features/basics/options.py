"""A strategy as written on the command line: `name` or `name:option=value,option=value`."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from features.basics.assignments import assigned
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name

T = TypeVar("T")
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def configured(catalogue: Catalogue[T], text: str, defaults: Mapping[str, Any] | None = None) -> T:
    """The strategy that `text` names. `defaults` hold for options that the strategy has and `text` leaves
    open. Raises InputError for unknown names, options or values, with the known ones.
    """
    name, _, tail = text.partition(":")
    kind: Any = catalogue.get(name)
    hints = get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    options = {key: value for key, value in (defaults or {}).items() if key in known}
    for part in filter(None, tail.split(",")):
        key, value = assigned(part, "option=value", f"{catalogue.noun} '{name}'")
        if key not in known:
            raise unknown_name("option", key, known, location=f"{catalogue.noun} '{name}'")
        options[key] = _value(value, hints[key], f"option '{key}' of {catalogue.noun} '{name}'")
    made: T = kind(**options)
    return made


def _value(text: str, hint: Any, location: str) -> Any:
    if get_origin(hint) is Literal:
        if text in get_args(hint):
            return text
        raise unknown_name("value", text, get_args(hint), location=location)
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]  # float | None
    try:
        return _TRUTH[text.lower()] if kinds[0] is bool else kinds[0](text)
    except (KeyError, ValueError):
        raise InputError(f"expected {kinds[0].__name__}, but got '{text}'", location=location) from None
