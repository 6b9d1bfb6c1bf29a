"""`NAME=VALUE` on the command line, read in one place."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from features.basics.errors import InputError
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
