"""`NAME=VALUE` and strategies with options on the command line."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name
from features.basics.hints import described, parsed
from features.basics.numerals import real

T = TypeVar("T")


def assigned(text: str, form: str, location: object, *, empty: bool = False) -> tuple[str, str]:
    """Name and value of a text such as `NAME=VALUE`; raises InputError for a text of another form."""
    name, equals, value = text.partition("=")
    if not (name and equals and (value or empty)):
        raise InputError(f"expected {form}, but got '{text}'", location=location)
    return name, value


def assignments(texts: Iterable[str], form: str, location: object, *, empty: bool = False) -> dict[str, str]:
    """Name -> value of `NAME=VALUE` texts; raises InputError for another form, and names given twice."""
    return once((assigned(text, form, location, empty=empty) for text in texts), location)


def numbers(
    texts: Iterable[str], form: str, location: object, *, above: float = -math.inf
) -> dict[str, float]:
    """Name -> number, finite and above a bound; raises InputError for other texts, and repeated names."""
    return once((_number(text, form, location, above) for text in texts), location)


def _number(text: str, form: str, location: object, above: float) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        number = real(value)
    except ValueError:
        number = math.nan
    if not (name and above < number < math.inf):
        bound = "" if above == -math.inf else f" above {above:g}"
        raise InputError(f"expected {form}, a number{bound}, but got '{text}'", location=location)
    return name, number


def named_file(text: str) -> tuple[str, Path]:
    """Name and file of `[NAME=]FILE`, or no name for the path of an existing file that holds `=`."""
    name, equals, path = text.partition("=")
    return (name, Path(path)) if equals and not Path(text).exists() else ("", Path(text))


def named_files(texts: Iterable[str], location: object, name_of: Callable[[Path], str]) -> dict[str, Path]:
    """Name -> file of `[NAME=]FILE`; `name_of` names the others. Raises InputError for repeated names."""
    pairs = map(named_file, texts)
    return once(((name or name_of(path), path) for name, path in pairs), location, "NAME=FILE")


def once(pairs: Iterable[tuple[str, T]], location: object, form: str = "") -> dict[str, T]:
    """Mapping of the pairs; raises InputError for a name given twice, with the `form` of another name."""
    named: dict[str, T] = {}
    for name, value in pairs:
        if name in named:
            remedy = f"use {form}" if form else "leave one out"
            raise InputError(f"'{name}' is given twice", location=location, remedy=remedy)
        named[name] = value
    return named


def configured(catalogue: Catalogue[T], text: str, defaults: Mapping[str, Any] | None = None) -> T:
    """The strategy that `text` names; `defaults` are for the options that `text` leaves open.

    Raises InputError for unknown names, options or values, with the known ones.
    """
    name, _, tail = text.partition(":")
    kind: Any = catalogue.get(name)
    hints = get_type_hints(kind, include_extras=True)
    known = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    options = {key: value for key, value in (defaults or {}).items() if key in known}
    for part in filter(None, tail.split(",")):
        key, value = assigned(part, "option=value", f"{catalogue.noun} '{name}'")
        if key not in known:
            raise unknown_name("option", key, known, location=f"{catalogue.noun} '{name}'")
        try:
            options[key] = parsed(value, hints[key])
        except ValueError:
            location = f"option '{key}' of {catalogue.noun} '{name}'"
            if get_origin(hints[key]) is Literal:
                raise unknown_name("value", value, get_args(hints[key]), location=location) from None
            problem = f"expected {described(hints[key])}, but got '{value}'"
            raise InputError(problem, location=location) from None
    made: T = kind(**options)
    return made
