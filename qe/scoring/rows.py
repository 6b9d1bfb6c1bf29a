"""Rows of an input: their columns, and why one cannot be used; none vanishes."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from features.basics.errors import InputError
from features.basics.longest import too_long


@dataclass(frozen=True)
class Unreadable:
    """In place of a value: why it cannot be read. Rows that need it say so as their reason."""

    reason: str


Item = TypeVar("Item")
Row = tuple[dict[str, Any], str]  # (columns, reason why the row cannot be used or "")
TEXTS = ("source", "target", "pseudo_reference", "back_translation")


def chunks(rows: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Rows in lists of `size`, the last one shorter."""
    batch: list[Item] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def rows_of(header: Sequence[str], records: Iterable[Sequence[str]]) -> Iterator[Row]:
    """Records as rows; one with more or fewer fields than the header says so as its reason."""
    for fields in records:
        if len(fields) == len(header):
            yield dict(zip(header, fields, strict=True)), ""
        else:
            there = dict(zip(header, fields, strict=False))
            yield there, f"{len(fields)} fields where the header has {len(header)}"


def json_rows(lines: Iterable[str]) -> Iterator[Row]:
    """JSONL lines as rows; one that is no JSON object says so as its reason."""
    for line in lines:
        try:
            value = json.loads(line, parse_float=Written)
        except json.JSONDecodeError as error:
            yield {}, f"not valid JSON ({error.msg})"
        except RecursionError:
            yield {}, "not valid JSON (nested too deeply)"
        except ValueError:  # Python reads whole numbers of up to 4,300 digits
            yield {}, "not valid JSON (a whole number of too many digits)"
        else:
            yield (value, unusable_id(value)) if isinstance(value, dict) else ({}, "not a JSON object")


class Written(float):
    """A number of JSON; its text is as it was written: `1e400` is no infinity, `1.10` not `1.1`."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


def unusable_id(row: dict[str, Any]) -> str:
    """Why a row's id cannot be written, or an empty string.

    An id that cannot be written is taken from the row.
    """
    name = row.get("id")
    if isinstance(name, dict | list) or (type(name) is float and not math.isfinite(name)):
        row["id"] = None
        return "the id is neither text nor a number"
    if isinstance(name, str) and any("\ud800" <= letter <= "\udfff" for letter in name):
        row["id"] = None
        return "the id holds half a surrogate pair"
    return ""


def check_header(header: Sequence[str], path: object) -> None:
    """Raises InputError if a header names a column twice."""
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise InputError(f"the header names {sorted(twice)} more than once", location=f"{path}:1")


def unusable(columns: Mapping[str, Any], needed: Sequence[str]) -> str:
    """Why a row cannot be scored, or an empty string."""
    for name in needed:
        value = columns.get(name)
        if isinstance(value, Unreadable):
            return value.reason
        if value is None:
            return f"no {name}"
        if not isinstance(value, str):
            return f"{name} is not text"
        if name in ("source", "target") and not value.strip():
            return f"empty {name}"
        if name in TEXTS and (reason := too_long(value)):
            return f"{name} has {reason}"
    return ""
