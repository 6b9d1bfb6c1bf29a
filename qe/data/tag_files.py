"""Tag files of word-level quality estimation: OK and BAD, or P(BAD), one line per segment."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError, unknown_name
from features.basics.numerals import real
from features.storage.files import read_lines
from qe.display.summary import summarised

Layout = Literal["tags", "words", "gaps", "source"]
LAYOUTS: tuple[str, ...] = get_args(Layout)
TAGS = {"OK": 0.0, "BAD": 1.0}


@summarised
@dataclass(frozen=True, eq=False)
class TagFile:
    """Tags of n segments, one after the other.

    Attributes
    ----------
    bad : array of float
        (t,) P(BAD); of tags, 1 for BAD and 0 for OK.
    offsets : array of int
        (n + 1,) tags offsets[i]:offsets[i + 1] belong to segment i.
    probabilities : bool
        Whether the file holds probabilities: a threshold must make tags of them.
    tags : array of bool or None
        (t,) whether each is tagged BAD, of a file that says so beside its probabilities.
    """

    path: Path
    bad: FloatArray
    offsets: IntArray
    probabilities: bool
    tags: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def segments(self) -> IntArray:
        """(t,) the segment of every tag."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def parts(self, layout: Layout) -> "dict[str, TagFile]":
        """The words and the gaps of a file that holds both; otherwise the file itself.

        Such a file has gap, word, gap, ..., word, gap.

        Raises InputError for an unknown layout, and for a line of such a file with an even number of tags.
        """
        if layout not in LAYOUTS:
            raise unknown_name("layout", layout, LAYOUTS, location="--layout")
        if layout != "tags":
            return {layout: self}
        sizes = np.diff(self.offsets)
        even = np.flatnonzero(sizes % 2 == 0)
        if len(even):
            raise InputError(
                f"{sizes[even[0]]} tags, but words and the gaps around them are an odd number",
                location=f"{self.path}:{even[0] + 1}",
                remedy="say --layout words, gaps or source for a file of one kind",
            )
        place = np.arange(len(self.bad)) - np.repeat(self.offsets[:-1], sizes)
        return {
            "words": self._only(place % 2 == 1, sizes // 2),
            "gaps": self._only(place % 2 == 0, sizes // 2 + 1),
        }

    def _only(self, rows: BoolArray, sizes: IntArray) -> "TagFile":
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        tags = None if self.tags is None else self.tags[rows]
        return TagFile(self.path, self.bad[rows], offsets, self.probabilities, tags)


def read_tags(path: Path) -> TagFile:
    """Reads `OK` and `BAD`, or numbers from 0 to 1, one line per segment.

    White space separates the tags.

    Raises InputError for an empty file, other words, numbers outside 0 .. 1, and tags mixed with numbers.
    """
    values: list[float] = []
    sizes: list[int] = []
    kinds: set[bool] = set()
    for number, line in enumerate(read_lines(path), start=1):
        words = line.split()
        read = [_value(word, path, number) for word in words]
        kinds |= {word not in TAGS for word in words}
        if len(kinds) > 1:
            raise InputError(
                "tags and numbers in one file", location=f"{path}:{number}", remedy="OK and BAD, or P(BAD)"
            )
        values += read
        sizes.append(len(words))
    if not values:
        raise InputError("no tags", location=path)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return TagFile(path, np.array(values), offsets, kinds == {True})


# Layout -> the columns of scored rows that hold its probabilities, and its tags.
_COLUMNS: Mapping[str, tuple[str, str]] = {
    "words": ("bad", "tags"),
    "gaps": ("gaps", "gap_tags"),
    "source": ("source_bad", "source_tags"),
}


def is_scored(path: Path) -> bool:
    """Whether a file is what `qe score --tokens` writes, by its name (JSONL)."""
    return path.name.removesuffix(".gz").endswith(".jsonl")


def read_scored(path: Path, layout: Layout) -> TagFile:
    """P(BAD), and tags if there are any, from the JSONL rows of `qe score --tokens`.

    Raises InputError for lines that are no such rows, and rows that were not scored.
    """
    rows = [_scored(line, path, number) for number, line in enumerate(read_lines(path), start=1)]
    if not rows:
        raise InputError("no rows", location=path)
    if layout != "tags":
        return _of_rows([_column(row, layout) for row in rows], path)
    pairs = zip((_column(row, "gaps") for row in rows), (_column(row, "words") for row in rows), strict=True)
    return _of_rows([[*_woven(gaps, words)] for gaps, words in pairs], path)


_Cell = tuple[float, str]  # P(BAD), and the tag, or nothing


def _scored(line: str, path: Path, number: int) -> tuple[dict[str, Any], str]:
    location = f"{path}:{number}"
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(f"not valid JSON ({error})", location=location) from None
    if not isinstance(row, dict):
        raise InputError("not a JSON object", location=location)
    return row, location


def _column(row: tuple[dict[str, Any], str], layout: str) -> list[_Cell]:
    content, location = row
    name, tag_name = _COLUMNS[layout]
    bad, tags = content.get(name), content.get(tag_name)
    if not isinstance(bad, list) or not all(_is_probability(value) for value in bad):
        raise InputError(
            f"no probabilities `{name}`", location=location, remedy="give what `qe score --tokens` writes"
        )
    if tags is None:
        return [(float(value), "") for value in bad]
    if not isinstance(tags, list) or len(tags) != len(bad) or not all(tag in TAGS for tag in tags):
        raise InputError(f"`{tag_name}` must be OK or BAD for each of `{name}`", location=location)
    return list(zip(map(float, bad), tags, strict=True))


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _woven(gaps: Sequence[_Cell], words: Sequence[_Cell]) -> list[_Cell]:
    return [cell for pair in zip(gaps, words, strict=False) for cell in pair] + list(gaps[len(words) :])


def _of_rows(rows: Sequence[Sequence[_Cell]], path: Path) -> TagFile:
    cells = [cell for row in rows for cell in row]
    if not cells:
        raise InputError("no tags", location=path)
    tags = None if any(tag == "" for _, tag in cells) else np.array([tag == "BAD" for _, tag in cells], bool)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return TagFile(path, np.array([bad for bad, _ in cells], np.float64), offsets, True, tags)


def _value(word: str, path: Path, line: int) -> float:
    if word in TAGS:
        return TAGS[word]
    try:
        value = real(word)
    except ValueError:
        value = np.nan
    if not 0 <= value <= 1:
        raise InputError(f"'{word}' is neither OK, BAD nor a probability", location=f"{path}:{line}")
    return value


def same_tags(gold: TagFile, other: TagFile) -> None:
    """Raises InputError if two files differ in lines, or a line in tags."""
    if len(gold) != len(other):
        raise InputError(f"{len(other)} lines, but {len(gold)} in {gold.path}", location=other.path)
    wrong = np.flatnonzero(np.diff(gold.offsets) != np.diff(other.offsets))
    if len(wrong):
        line, sizes = wrong[0], (np.diff(other.offsets)[wrong[0]], np.diff(gold.offsets)[wrong[0]])
        raise InputError(
            f"{sizes[0]} tags, but {sizes[1]} in {gold.path}", location=f"{other.path}:{line + 1}"
        )
