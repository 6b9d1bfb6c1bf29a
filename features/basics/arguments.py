"""Checks the arguments of public functions first: one InputError instead of a traceback."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from features.basics.errors import InputError, keep_known_options, name_parameters, quoted, unknown_name
from features.basics.hints import PLAIN, described, fits

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A public function whose arguments are compared with their type hints.

    >>> @checked
    ... def twice(text: str, n: int = 2) -> str: return text * n
    >>> twice("a", n="3")
    Traceback (most recent call last):
    features.basics.errors.InputError: twice: `n` must be a whole number, but got '3'
    >>> twice("a", times=3)
    Traceback (most recent call last):
    features.basics.errors.InputError: twice: unknown argument 'times'; known: text, n

    It raises InputError for an unknown name, and for a value of another type. Hints that only a type checker
    can resolve are not compared. Messages of the function name its parameters, not options of `qe`.
    """
    signature, name = inspect.signature(function), function.__name__
    named = [key for key, one in signature.parameters.items() if one.kind != inspect.Parameter.VAR_KEYWORD]
    open_ended = len(named) < len(signature.parameters)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        for key in kwargs:
            if key not in named and not open_ended:
                raise unknown_name(
                    "argument", key, [k for k in named if k not in ("self", "cls")], location=name
                )
        hints = _hints(function)
        for key, value in signature.bind(*args, **kwargs).arguments.items():
            if key in hints and key in named and not accepts(hints[key], value):
                raise _refused(key, value, hints[key], name)
        try:
            return function(*args, **kwargs)
        except InputError as error:
            if not open_ended:
                keep_known_options(error, {key.replace("_", "-") for key in named})
            name_parameters(error)
            raise

    return called


def _refused(key: str, value: Any, hint: Any, location: str) -> InputError:
    if get_origin(hint) is Literal and isinstance(value, str):
        return unknown_name(key, value, get_args(hint), location=location)
    return InputError(f"`{key}` must be {worded(hint)}, but got {quoted(value)}", location=location)


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for name, annotation in inspect.get_annotations(function).items():
        alone = SimpleNamespace(__annotations__={name: annotation})
        with suppress(NameError):
            hints |= get_type_hints(alone, function.__globals__, include_extras=True)
    return hints


def accepts(hint: Any, value: Any) -> bool:
    """Whether a value has the hinted type. Numbers of NumPy count as numbers, and any collection as a
    sequence.

    >>> import numpy as np
    >>> accepts(int, np.int64(3)), accepts(Sequence[str], "mae"), accepts(str | None, 3)
    (True, False, False)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Annotated:
        return accepts(arguments[0], value) and fits(_plain(value), hint)
    if origin in (Union, UnionType):
        return any(accepts(one, value) for one in arguments)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Sequence):
        return _is_list(value) and all(accepts(arguments[0], one) for one in value)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(accepts(arguments[1], one) for one in value.values())
    if inspect.isclass(hint) and origin is None and hint not in PLAIN and hint is not object:
        return bool(getattr(hint, "_is_protocol", False)) or isinstance(value, hint)
    return fits(_plain(value), hint)


def worded(hint: Any) -> str:
    """A hinted type in words; classes by their names.

    >>> worded(Sequence[str]), worded(Mapping[str, int] | None)
    ('a list (each text)', 'a mapping or None')
    """
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(worded, get_args(hint))))
    if hint is type(None):
        return "None"
    if not inspect.isclass(hint) or hint in PLAIN or get_origin(hint) is not None:
        return described(hint)
    return f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"


def _is_list(value: Any) -> bool:
    return (
        isinstance(value, Iterable)
        and hasattr(value, "__len__")
        and not isinstance(value, str | bytes | Mapping)
    )


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value
