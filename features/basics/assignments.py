"""`NAME=VALUE` and strategies with options on the command line."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, unknown_name
from features.basics.numerals import real

T = TypeVar("T")


def assigned(text: str, form: str, location: object, *, empty: bool = False) -> tuple[str, str]:
    """Name and value of a text such as `NAME=VALUE`; the value may be empty only if `empty` is set.

    >>> assigned("length.most=100", "RULE.key=value", "--set")
    ('length.most', '100')
    >>> assigned("length.most", "RULE.key=value", "--set")
    Traceback (most recent call last):
    features.basics.errors.InputError: --set: expected RULE.key=value, but got 'length.most'

    Raises InputError for a text of another form.
    """
    name, equals, value = text.partition("=")
    if not (name and equals and (value or empty)):
        raise InputError(f"expected {form}, but got '{text}'", location=location)
    return name, value


def assignments(texts: Iterable[str], form: str, location: object, *, empty: bool = False) -> dict[str, str]:
    """The assignments in texts, as name -> value. Raises InputError for a text of another form, and for a
    name that is given twice.
    """
    return once((assigned(text, form, location, empty=empty) for text in texts), location)


def numbers(
    texts: Iterable[str], form: str, location: object, *, above: float = -math.inf
) -> dict[str, float]:
    """Name -> number, finite and above a bound.

    >>> numbers(["mae=0.02"], "METRIC=MARGIN", "--margin", above=0)
    {'mae': 0.02}

    Raises InputError for a text of another form, other numbers, and a name that is given twice.
    """
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
    """Name and file of `[NAME=]FILE`; the name is empty if none is given. A file that is there under the
    whole text has no name: paths may hold `=`.

    >>> named_file("svr=scores/svr.tsv")
    ('svr', PosixPath('scores/svr.tsv'))
    >>> named_file("svr.tsv")
    ('', PosixPath('svr.tsv'))
    """
    name, equals, path = text.partition("=")
    return (name, Path(path)) if equals and not Path(text).exists() else ("", Path(text))


def named_files(texts: Iterable[str], location: object, name_of: Callable[[Path], str]) -> dict[str, Path]:
    """Name -> file of `[NAME=]FILE`, each named by the function if no name is given.

    >>> named_files(["a=x.txt", "y.txt"], "--predictions", lambda path: path.stem)
    {'a': PosixPath('x.txt'), 'y': PosixPath('y.txt')}

    Raises InputError for a name that is given twice.
    """
    pairs = map(named_file, texts)
    return once(((name or name_of(path), path) for name, path in pairs), location, "NAME=FILE")


def once(pairs: Iterable[tuple[str, T]], location: object, form: str = "") -> dict[str, T]:
    """Name -> what it names.

    form  how a thing is given another name, such as `NAME=FILE`

    Raises InputError for a name that is given twice.
    """
    named: dict[str, T] = {}
    for name, value in pairs:
        if name in named:
            remedy = f"use {form}" if form else "leave one out"
            raise InputError(f"'{name}' is given twice", location=location, remedy=remedy)
        named[name] = value
    return named


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
