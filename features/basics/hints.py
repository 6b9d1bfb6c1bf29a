"""Checks settings against type hints and their ranges by pydantic, with messages in plain words."""

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen

from features.basics.errors import InputError, keep_known_options, name_parameters, quoted, unknown_name

if TYPE_CHECKING:
    from pydantic import TypeAdapter

PLAIN: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    NoneType: "null",
}
_WORDS: Final[Mapping[str, str]] = {  # of pydantic's types of errors
    "bool_type": PLAIN[bool],
    "int_type": PLAIN[int],
    "float_type": PLAIN[float],
    "finite_number": PLAIN[float],
    "string_type": PLAIN[str],
    "none_required": PLAIN[NoneType],
    "dict_type": "a mapping",
    "is_instance_of": "a list",
    "sequence_str": "a list",
}
_ONE_OF: Final = (Union, UnionType)
_SEQUENCES: Final = (Sequence, list, tuple, Collection)
_MAPPINGS: Final = (Mapping, dict)

MOST_SEED: Final = 2**32 - 1
Seed = Annotated[int, Ge(0), Le(MOST_SEED)]  # what NumPy's and scikit-learn's generators take
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
Inner = Annotated[float, Gt(0), Lt(1)]  # a share that leaves something on both sides
Part = Annotated[float, Gt(0), Le(1)]
Count = Annotated[int, Ge(1)]  # of what there must be one of
Folds = Annotated[int, Ge(2)]
Threads = Annotated[int, Ge(1), Le(1024)] | Literal[-1]  # -1: one per core

Mistake = tuple[str, str]  # where it stands (`params.members.0.alpha`), and what it is


class Check(ABC):
    """A note in `Annotated[...]` that looks at values of the right type more closely."""

    @abstractmethod
    def mistakes(self, value: Any, place: str) -> Iterator[Mistake]:
        """Mistakes in a value at `place`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import PydanticCustomError, ValidationError, core_schema

        def checked_value(value: Any) -> Any:
            errors: list[Any] = [
                {
                    "type": PydanticCustomError("mistake", "{text}", {"text": text}),
                    "loc": tuple(filter(None, [place.lstrip(".")])),
                }
                for place, text in self.mistakes(value, "")
            ]
            if errors:
                raise ValidationError.from_exception_data("", errors)
            return value

        return core_schema.no_info_after_validator_function(checked_value, handler(source))


def fits(value: Any, hint: Any) -> bool:
    """Whether a value from YAML has the hinted type; true for types that YAML does not know.

    No text is a number, no number infinite, and no truth value a whole number; a list is accepted for any
    sequence. Bounds (`Ge`, `Gt`, `Le`, `Lt`, `MinLen`) and every `Check` of `Annotated` types hold too.
    """
    return next(mistakes(value, hint), None) is None


def mistakes(value: Any, hint: Any, place: str = "") -> Iterator[Mistake]:
    """All mistakes in a value at `place`; in a list or mapping, in each entry.

    >>> list(mistakes([1, 0], Sequence[Count], "orders"))
    [('orders.1', 'must be greater than or equal to 1, but got 0')]
    """
    from pydantic import ValidationError

    try:
        _adapter(hint).validate_python(value)
        return
    except ValidationError as error:
        details = error.errors(include_url=False)
    found: dict[tuple[Any, ...], list[Any]] = {}
    for detail in details:
        path = detail["loc"] if detail["type"] == "mistake" else tuple(steps(value, detail["loc"]))
        found.setdefault(path, []).append(detail)
    for path, errors in found.items():  # none for a list whose entries are wrong themselves
        if any(len(other) > len(path) and other[: len(path)] == path for other in found):
            continue
        words = [_WORDS.get(e["type"], e["msg"].removeprefix("Input should be ")) for e in errors]
        text = " or ".join(dict.fromkeys(words)) if path else described(hint)
        message = f"must be {text}, but got {quoted(errors[0]['input'])}"
        yield ".".join([place, *map(str, path)]), words[0] if errors[0]["type"] == "mistake" else message


def steps(value: Any, location: Sequence[Any]) -> Iterator[Any]:
    """The parts of a location that lead into the value; others name alternatives of a type."""
    for part in location:
        inside = part in value if isinstance(value, Mapping) else isinstance(value, list | tuple)
        if inside and not (isinstance(part, str) and isinstance(value, list | tuple)):
            value = value[part]
            yield part


def parsed(value: Any, hint: Any) -> Any:
    """The value of a text or of YAML in the hinted type; raises ValueError if it has none.

    >>> parsed("5", Count), parsed("1e-4", float), parsed("false", bool)
    (5, 0.0001, False)
    """
    from pydantic import ConfigDict, TypeAdapter

    config = None if is_dataclass(hint) else ConfigDict(allow_inf_nan=False)
    return TypeAdapter(hint, config=config).validate_python(value)


@functools.cache
def _adapter(hint: Any, classes: bool = False) -> "TypeAdapter[Any]":
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUserError

    strict = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)
    try:
        return TypeAdapter(_checked_hint(hint, classes), config=strict)
    except PydanticUserError:  # a type that YAML does not know
        return TypeAdapter(Any)


def _checked_hint(hint: Any, classes: bool) -> Any:
    """The hint with sequences for lists and tuples, and anything for protocols and unwanted classes."""
    from pydantic import InstanceOf

    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[(_checked_hint(arguments[0], classes), *arguments[1:])]
    inner = tuple(_checked_hint(argument, classes) for argument in arguments if argument is not ...)
    if origin in _SEQUENCES:
        return Sequence[Union[inner]]  # type: ignore[valid-type]  # noqa: UP007
    if origin in _ONE_OF:
        return Union[inner]  # noqa: UP007
    if origin in _MAPPINGS:
        return Mapping[inner]  # type: ignore[misc, valid-type]
    if origin is Literal or hint in PLAIN or hint is Any:
        return hint
    kind = origin or hint
    is_checked = classes and inspect.isclass(kind) and not getattr(kind, "_is_protocol", False)
    return Annotated[(kind, InstanceOf())] if is_checked else Any  # type: ignore[type-arg]


def described(hint: Any) -> str:
    """The hinted type in words.

    >>> described(Literal["auto"] | Sequence[int])
    "'auto' or a list (each a whole number)"
    >>> described(Share), described(Count | None)
    ('a number from 0 to 1', 'a whole number from 1 or null')
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        words = {Ge: " from {0.ge}", Gt: " above {0.gt}", Le: " to {0.le}", Lt: " below {0.lt}"}
        notes = [n for note in arguments[1:] for n in (note if isinstance(note, Interval) else (note,))]
        limits = [words[type(note)].format(note) for note in notes if type(note) in words]
        filled = ", not empty" if any(isinstance(note, MinLen) for note in notes) else ""
        return "".join([described(arguments[0]), *limits, filled])
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin in _ONE_OF:
        return " or ".join(dict.fromkeys(map(described, arguments)))
    if origin in _SEQUENCES:
        return f"a list (each {described(arguments[0])})"
    if origin in _MAPPINGS:
        return "a mapping"
    if hint in PLAIN or not inspect.isclass(hint):
        return PLAIN.get(hint, str(hint))
    return f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"


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
                known = [k for k in named if k not in ("self", "cls")]
                raise unknown_name("argument", key, known, location=name)
        hints = {key: hint for key, hint in _hints(function).items() if key in named}
        check_values(name, hints, signature.bind(*args, **kwargs).arguments)
        try:
            return function(*args, **kwargs)
        except InputError as error:
            if not open_ended:
                keep_known_options(error, {key.replace("_", "-") for key in named})
            name_parameters(error)
            raise

    return called


def check_parameters(instance: Any, values: Mapping[str, Any]) -> None:
    """Raises InputError for a parameter of an object that is not of its annotated type and range."""
    kind = type(instance)
    changed = {name: value for name, value in values.items() if value is not getattr(kind, name, kind)}
    check_values(kind.__name__, {**_hints(kind.__init__), **getattr(kind, "stated", {})}, changed)


def check_values(location: str, hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raises InputError for the first value, by its name, that is not of its hinted type and range."""
    for name, hint in hints.items():
        if name not in values or accepts(hint, value := values[name]):
            continue
        if get_origin(hint) is Literal and isinstance(value, str):
            raise unknown_name(name, value, get_args(hint), location=location)
        # A class that is not checked in settings of YAML makes no mistake there.
        unfit = (name, f"must be {described(hint)}, but got {quoted(value)}")
        place, problem = next(mistakes(value, hint, name), unfit)
        raise InputError(f"`{place}` {problem.replace(' or null', ' or None', 1)}", location=location)


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    if inspect.isclass(function):
        function = vars(function).get("__init__", function)
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
    from pydantic import ValidationError

    if is_dataclass(hint) and isinstance(hint, type):
        return isinstance(value, hint)
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, Collection) and not isinstance(plain, str | bytes | Mapping | list | tuple):
        plain = list(plain)
    for each in (value, plain):
        with suppress(ValidationError):
            _adapter(hint, True).validate_python(each)
            return True
    return False
