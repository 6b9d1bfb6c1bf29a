"""Settings against the type hints of their fields, as far as YAML can get them wrong."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import EllipsisType, NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

_PLAIN: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    NoneType: "null",
}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value from YAML is of the hinted type; true of types that YAML does not know.

    No text is a number, and no truth value a whole number; a list may stand for any sequence.

    >>> fits([1, 2], Sequence[int]), fits("12", Sequence[int]), fits(["a"], Sequence[int]), fits(True, int)
    (True, False, False, False)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in arguments
    if origin in (Union, UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin in (Sequence, list, tuple):
        inner = [argument for argument in arguments if not isinstance(argument, EllipsisType)]
        return isinstance(value, list | tuple) and all(any(fits(v, a) for a in inner) for v in value)
    if origin in (Mapping, dict):
        key, inside = arguments
        return isinstance(value, Mapping) and all(fits(k, key) and fits(v, inside) for k, v in value.items())
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return hint not in _PLAIN or isinstance(value, hint)


def described(hint: Any) -> str:
    """The hinted type in words.

    >>> described(Literal["auto"] | Sequence[int])
    "'auto' or a list (each a whole number)"
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin in (Union, UnionType):
        return " or ".join(map(described, arguments))
    if origin in (Sequence, list, tuple):
        return f"a list (each {described(arguments[0])})"
    return "a mapping" if origin in (Mapping, dict) else _PLAIN.get(hint, str(hint))
