"""Checks settings against type hints and their ranges, as far as YAML can get them wrong."""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import EllipsisType, NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from annotated_types import Ge, Gt, Le, Lt, MinLen

from features.basics.errors import InputError, keep_known_options, name_parameters, quoted, unknown_name

PLAIN: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    NoneType: "null",
}
_ONE_OF: Final = (Union, UnionType)
_SEQUENCES: Final = (Sequence, list, tuple)
_MAPPINGS: Final = (Mapping, dict)

Seed = Annotated[int, Ge(0), Le(2**32 - 1)]  # what NumPy's and scikit-learn's generators take
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(1)]  # of what there must be one of

Mistake = tuple[str, str]  # where it stands (`params.members.0.alpha`), and what it is


@runtime_checkable
class Check(Protocol):
    """A note in `Annotated[...]` that looks at values of the right type more closely."""

    def mistakes(self, value: Any, place: str) -> Iterator[Mistake]:
        """Mistakes in a value at `place`."""


def fits(value: Any, hint: Any) -> bool:
    """Whether a value from YAML has the hinted type; true for types that YAML does not know.

    No text is a number, no number infinite, and no truth value a whole number; a list is accepted for any
    sequence. Bounds (`Ge`, `Gt`, `Le`, `Lt`, `MinLen`) and every `Check` of `Annotated` types hold too.
    """
    return next(mistakes(value, hint), None) is None


def mistakes(value: Any, hint: Any, place: str = "") -> Iterator[Mistake]:
    """All mistakes in a value at `place`; in a list or mapping, in each entry.

    >>> list(mistakes([1, 0], Sequence[Count], "orders"))
    [('orders.1', 'must be a whole number from 1, but got 0')]
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _annotated(value, hint, place)
    elif origin in _ONE_OF:
        if not any(fits(value, argument) for argument in arguments):
            alike = [argument for argument in arguments if _of_shape(value, argument)]
            yield from mistakes(value, alike[0], place) if len(alike) == 1 else _wrong(value, hint, place)
    elif origin in _SEQUENCES and isinstance(value, list | tuple):
        inner = [argument for argument in arguments if not isinstance(argument, EllipsisType)]
        entry = Union[tuple(inner)] if inner else Any  # noqa: UP007 (of types that are only known here)
        for number, each in enumerate(value):
            yield from mistakes(each, entry, f"{place}.{number}")
    elif origin in _MAPPINGS and isinstance(value, Mapping):
        key, inside = arguments
        for name, each in value.items():
            yield from _wrong(name, key, f"{place}, its key") if not fits(name, key) else ()
            yield from mistakes(each, inside, f"{place}.{name}")
    elif not _plainly(value, hint, origin, arguments):
        yield from _wrong(value, hint, place)


def described(hint: Any) -> str:
    """The hinted type in words.

    >>> described(Literal["auto"] | Sequence[int])
    "'auto' or a list (each a whole number)"
    >>> described(Share), described(Count | None)
    ('a number from 0 to 1', 'a whole number from 1 or null')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return described(arguments[0]) + _bounds(arguments[1:])
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin in _ONE_OF:
        return " or ".join(map(described, arguments))
    if origin in _SEQUENCES:
        return f"a list (each {described(arguments[0])})"
    return "a mapping" if origin in _MAPPINGS else PLAIN.get(hint, str(hint))


def _wrong(value: Any, hint: Any, place: str) -> Iterator[Mistake]:
    yield place, f"must be {described(hint)}, but got {quoted(value)}"


def _plainly(value: Any, hint: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if origin is Literal:  # 1 equals true, but is no truth value
        return any(
            value == known and isinstance(value, bool) == isinstance(known, bool) for known in arguments
        )
    if origin in (*_SEQUENCES, *_MAPPINGS):
        return False
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return hint not in PLAIN or isinstance(value, hint)


def _of_shape(value: Any, hint: Any) -> bool:
    origin = get_origin(get_args(hint)[0] if get_origin(hint) is Annotated else hint)
    if origin in _SEQUENCES:
        return isinstance(value, list | tuple)
    return origin in _MAPPINGS and isinstance(value, Mapping)


def _annotated(value: Any, hint: Any, place: str) -> Iterator[Mistake]:
    base, *notes = get_args(hint)
    if not fits(value, base):
        shape = _of_shape(value, base)
        yield from mistakes(value, base, place) if shape else _wrong(value, hint, place)
    elif not all(_within(value, note) for note in notes):
        yield from _wrong(value, hint, place)
    else:
        for note in notes:
            if isinstance(note, Check):
                yield from note.mistakes(value, place)


def _within(value: Any, note: Any) -> bool:
    match note:
        case Ge(least):
            return bool(value >= least)
        case Gt(below):
            return bool(value > below)
        case Le(most):
            return bool(value <= most)
        case Lt(above):
            return bool(value < above)
        case MinLen(least):
            return len(value) >= least
    return True


def _bounds(notes: Sequence[Any]) -> str:
    words = {Ge: " from {}", Gt: " above {}", Le: " to {}", Lt: " below {}"}
    limits = [(note, words[type(note)]) for note in notes if type(note) in words]
    text = "".join(word.format(getattr(note, type(note).__name__.lower())) for note, word in limits)
    return text + (", not empty" if any(isinstance(note, MinLen) for note in notes) else "")


P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A public function whose arguments are compared with their type hints, if these can be resolved.

    >>> @checked
    ... def twice(text: str, n: int = 2) -> str: return text * n
    >>> twice("a", n="3")
    Traceback (most recent call last):
    features.basics.errors.InputError: twice: `n` must be a whole number, but got '3'
    >>> twice("a", times=3)
    Traceback (most recent call last):
    features.basics.errors.InputError: twice: unknown argument 'times'; known: text, n

    It raises InputError for an unknown name, and for a value of another type, with names of parameters.
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
    """Whether a value has the hinted type; numbers of NumPy and any collection too.

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
        is_list = (
            isinstance(value, Iterable)
            and hasattr(value, "__len__")
            and not isinstance(value, str | bytes | Mapping)
        )
        return is_list and all(accepts(arguments[0], one) for one in value)
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


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value
