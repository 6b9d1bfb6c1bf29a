"""Damage: files that are not what was saved; checks of arrays before compiled code reads them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from features.basics.errors import InputError

REBUILD = "delete this and build again (a model: train it again)"


class Damaged(ValueError):
    """Content that a check refuses, in words; `damage_reported` adds the file."""


@contextmanager
def damage_reported(noun: str, path: Path, remedy: str = REBUILD) -> Iterator[None]:
    """Raises InputError if the block, which reads `path`, fails for any reason."""
    try:
        yield
    except (InputError, ModuleNotFoundError):  # a package that is not installed is no damage
        raise
    except Exception as error:  # decoders of damaged bytes raise nearly everything
        reason = str(error) if isinstance(error, Damaged) else f"{type(error).__name__}: {error}"
        line = "".join(character if character.isprintable() else " " for character in reason)
        shown = line if len(line) <= 300 else f"{line[:300]}..."
        raise InputError(f"{noun} is damaged ({shown})", location=path, remedy=remedy) from error


def read_json(noun: str, path: Path, remedy: str = REBUILD) -> dict[str, Any]:
    """The JSON object in a file; raises InputError if it is absent, cannot be read, or is none."""
    with damage_reported(noun, path, remedy):
        content = json.loads(path.read_text("utf-8"))
        if not isinstance(content, Mapping):
            raise Damaged(f"expected a JSON object, but got {type(content).__name__}")
        return dict(content)


_BLOCK = 1 << 22  # values looked at at a time


def typed(name: str, array: NDArray[Any], dtype: DTypeLike, *shape: int | None) -> None:
    """Raises Damaged if an array is not of that type and shape; None allows any length.

    >>> typed("ids", np.zeros(3, np.int32), np.int32, 3)
    >>> typed("ids", np.zeros((2, 3)), np.float64, None, 4)
    Traceback (most recent call last):
    features.storage.damage.Damaged: `ids` must be float64 (any, 4), but is float64 (2, 3)
    """
    wanted = np.dtype(dtype)
    fits = len(shape) == array.ndim and all(
        size is None or size == length for size, length in zip(shape, array.shape, strict=False)
    )
    if not fits or array.dtype != wanted or not array.dtype.isnative:
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise Damaged(f"`{name}` must be {wanted} ({sizes}), but is {array.dtype} {array.shape}")


def within(name: str, array: NDArray[Any], low: int, high: int) -> None:
    """Raises Damaged if a whole number is not in low .. high - 1.

    >>> within("columns", np.array([0, 7]), 0, 7)
    Traceback (most recent call last):
    features.storage.damage.Damaged: `columns` must be in 0 .. 6, but has 7
    """
    for block in _blocks(array):
        least, most = block.min(), block.max()
        if least < low or most >= high:
            wrong = least if least < low else most
            raise Damaged(f"`{name}` must be in {low} .. {high - 1}, but has {wrong}")


def finite(name: str, array: NDArray[Any], low: float = -np.inf, high: float = np.inf) -> None:
    """Raises Damaged if a number is not finite, or not in low .. high, both included.

    >>> finite("forward", np.array([0.5, np.nan]), 0, 1)
    Traceback (most recent call last):
    features.storage.damage.Damaged: `forward` must hold numbers from 0 to 1, but has nan
    """
    for block in _blocks(array):
        wrong = ~(np.isfinite(block) & (block >= low) & (block <= high))
        if wrong.any():
            raise Damaged(f"`{name}` must hold numbers from {low:g} to {high:g}, but has {block[wrong][0]}")


def number(name: str, array: NDArray[Any], low: float = -np.inf, high: float = np.inf) -> float:
    """The number in an array without axes; raises Damaged for another array, or as `finite`.

    >>> number("share", np.array(0.25), 0, 1)
    0.25
    >>> number("share", np.array(np.inf))
    Traceback (most recent call last):
    features.storage.damage.Damaged: `share` must hold numbers from -inf to inf, but has inf
    """
    typed(name, array, np.float64)
    finite(name, array.reshape(1), low, high)
    return float(array)


def rising(
    name: str, array: NDArray[Any], first: int | None, last: int | None, *, strictly: bool = False
) -> None:
    """Raises Damaged if numbers fall (`strictly`: or stay equal), or have other ends than `first` and `last`.

    >>> rising("offsets", np.array([0, 2, 1, 3]), 0, 3)
    Traceback (most recent call last):
    features.storage.damage.Damaged: `offsets` must rise from 0 to 3, but falls at place 2
    """
    span = "" if first is None and last is None else f" from {first} to {last}"
    if (
        not array.size
        or (first is not None and array[0] != first)
        or (last is not None and array[-1] != last)
    ):
        seen = f"goes from {array[0]} to {array[-1]}" if array.size else "is empty"
        raise Damaged(f"`{name}` must rise{span}, but {seen}")
    for start in range(0, len(array) - 1, _BLOCK):
        block = array[start : start + _BLOCK + 1]
        wrong = block[1:] <= block[:-1] if strictly else block[1:] < block[:-1]
        if wrong.any():
            raise Damaged(f"`{name}` must rise{span}, but falls at place {start + 1 + int(wrong.argmax())}")


def rows(
    offsets: NDArray[Any],
    size: int,
    columns: NDArray[Any],
    width: int,
    **values: tuple[NDArray[Any], DTypeLike],
) -> None:
    """Raises Damaged unless rows offsets[r]:offsets[r + 1] are a table with columns below `width`."""
    typed("offsets", offsets, np.int64, size + 1)
    typed("columns", columns, np.int32, None)
    rising("offsets", offsets, 0, len(columns))
    within("columns", columns, 0, width)
    for name, (array, dtype) in values.items():
        typed(name, array, dtype, len(columns))


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = array.ravel(order="K")
    for start in range(0, len(flat), _BLOCK):
        yield flat[start : start + _BLOCK]
