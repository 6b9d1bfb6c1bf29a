"""Columns: named values of a batch's tokens, moved to neighbours and across links."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.basics.errors import InputError
from features.storage.damage import REBUILD

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]
Record = TypeVar("Record")


def shifted(values: NDArray[Any], offsets: Longs, offset: int) -> Floats:
    """(n_tokens,) the value `offset` tokens further on in the text; NaN beyond the text."""
    result = np.full(len(values), np.nan)
    first, last = _bounds(offsets)
    there = np.arange(len(values)) + offset
    inside = (there >= first) & (there < last)
    result[inside] = values[there[inside]]
    return result


def places(offsets: Longs) -> Longs:
    return np.asarray(np.arange(offsets[-1]) - _bounds(offsets)[0], np.int64)


def spread(values: NDArray[Any], offsets: Longs) -> NDArray[Any]:
    return np.repeat(values, np.diff(offsets))


def values_at(values: NDArray[Any], index: Longs) -> Floats:
    """values[index]; NaN if the index is negative.

    >>> values_at(np.array([5, 6]), np.array([1, -1]))
    array([ 6., nan])
    """
    result = np.full(len(index), np.nan)
    there = index >= 0
    result[there] = values[index[there]]
    return result


def matrix(columns: Columns, size: int) -> NDArray[np.float32]:
    result = np.empty((size, len(columns)), np.float32)
    for k, column in enumerate(columns.values()):
        result[:, k] = column
    return result


def columns_in(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The places of the columns `wanted` among `names`; raises InputError for an absent one.

    >>> columns_in(("lm", "place"), ("place",))
    [1]
    """
    absent = [name for name in wanted if name not in names]
    if absent:
        raise InputError(f"a model of words is damaged: there is no column '{absent[0]}'", remedy=REBUILD)
    return [names.index(name) for name in wanted]


def same_width(built: int, expected: int) -> None:
    if built != expected:
        raise InputError(
            f"a model of words is damaged: it takes {expected} columns, but there are {built}", remedy=REBUILD
        )


def prefixed(prefix: str, columns: Columns) -> Columns:
    return {f"{prefix}{name}": column for name, column in columns.items()}


def concatenated(records: Sequence[Record]) -> Record:
    """Records (dataclasses) of several batches of texts as one; other fields are those of the first."""

    def joined_field(name: str) -> Any:
        values = [getattr(record, name) for record in records]
        if name == "offsets":
            return offsets_of(np.concatenate([np.diff(each) for each in values]))
        if isinstance(values[0], Mapping):
            return {key: np.concatenate([each[key] for each in values]) for key in values[0]}
        return np.concatenate(values) if isinstance(values[0], np.ndarray) else values[0]

    first: Any = records[0]
    joined: Record = replace(first, **{field.name: joined_field(field.name) for field in fields(first)})
    return joined


def _bounds(offsets: Longs) -> tuple[Longs, Longs]:
    lengths = np.diff(offsets)
    return np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
