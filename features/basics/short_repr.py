"""A short `repr` for large dataclasses: one field a line, long values cut in the middle."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
LINES = 15  # what a prompt shows without scrolling
_VALUE = 60  # characters of a value


def short_repr(kind: C) -> C:
    """A decorator for a dataclass, above `@dataclass`: its `repr` is short.

    >>> @short_repr
    ... @dataclasses.dataclass
    ... class Texts: lines: list[str]; language: str
    >>> Texts(["a", "b", "c"], "en")
    Texts
      lines     3 entries
      language  'en'
    """
    changed: Any = kind
    changed.__repr__ = _short
    return kind


def fields_of(value: Any) -> list[tuple[str, str]]:
    names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
    known = [(name, getattr(value, name)) for name in names]
    return [(name, in_short(one)) for name, one in known if one is not None]


def in_short(value: Any) -> str:
    """A value in few characters: what it is, if it holds much.

    >>> in_short({"a": 1, "b": 2}), in_short([0.5] * 1000), in_short(0.25)
    ('2 entries: a, b', '1000 entries', '0.25')
    """
    if hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    if isinstance(value, Mapping) and value:
        return _cut(f"{len(value)} entries: {', '.join(map(str, value))}")
    if isinstance(value, Collection) and not isinstance(value, str | bytes) and len(value) > 2:
        return f"{len(value)} entries"
    first, _, more = repr(value).partition("\n")
    return _cut(first.strip() + (" ..." if more else ""))


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 4]} ..."


def _short(value: Any) -> str:
    rows = fields_of(value)
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"  {name:<{width}}  {text}" for name, text in rows]
    more = [f"  ... and {len(lines) - LINES + 2} more"] if len(lines) >= LINES else []
    return "\n".join([type(value).__name__, *lines[: LINES - 2 if more else LINES], *more])
