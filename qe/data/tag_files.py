"""Tag files of word-level quality estimation: OK and BAD, or P(BAD), one line per segment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from features.core.array_types import BoolArray, FloatArray, IntArray
from features.core.errors import InputError, unknown_name
from features.core.files import read_lines

Layout = Literal["tags", "words", "gaps", "source"]
LAYOUTS: tuple[str, ...] = get_args(Layout)
TAGS = {"OK": 0.0, "BAD": 1.0}


@dataclass(frozen=True, eq=False)
class TagFile:
    """Tags of n segments, one after the other.

    bad            (t,) P(BAD); of tags, 1 for BAD and 0 for OK
    offsets        (n + 1,) tags offsets[i]:offsets[i + 1] belong to segment i
    probabilities  whether the file holds probabilities: a threshold must make tags of them
    """

    path: Path
    bad: FloatArray
    offsets: IntArray
    probabilities: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def segments(self) -> IntArray:
        """(t,) the segment of every tag."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def parts(self, layout: Layout) -> "dict[str, TagFile]":
        """Words and gaps of a file that holds both (gap, word, gap, ..., word, gap), else the file itself.

        Raises InputError for an unknown layout, and for a line of such a file with an even number of tags.
        """
        if layout not in LAYOUTS:
            raise unknown_name("layout", layout, LAYOUTS, where="--layout")
        if layout != "tags":
            return {layout: self}
        sizes = np.diff(self.offsets)
        even = np.flatnonzero(sizes % 2 == 0)
        if len(even):
            raise InputError(
                f"{sizes[even[0]]} tags, but words and the gaps around them are an odd number",
                where=f"{self.path}:{even[0] + 1}",
                remedy="say --layout words, gaps or source for a file of one kind",
            )
        place = np.arange(len(self.bad)) - np.repeat(self.offsets[:-1], sizes)
        return {
            "words": self._only(place % 2 == 1, sizes // 2),
            "gaps": self._only(place % 2 == 0, sizes // 2 + 1),
        }

    def _only(self, rows: BoolArray, sizes: IntArray) -> "TagFile":
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return TagFile(self.path, self.bad[rows], offsets, self.probabilities)


def read_tags(path: Path) -> TagFile:
    """Reads `OK` and `BAD`, or numbers from 0 to 1, separated by white space; one line per segment.

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
                "tags and numbers in one file", where=f"{path}:{number}", remedy="OK and BAD, or P(BAD)"
            )
        values += read
        sizes.append(len(words))
    if not values:
        raise InputError("no tags", where=path)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return TagFile(path, np.array(values), offsets, kinds == {True})


def _value(word: str, path: Path, line: int) -> float:
    if word in TAGS:
        return TAGS[word]
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not 0 <= value <= 1:
        raise InputError(f"'{word}' is neither OK, BAD nor a probability", where=f"{path}:{line}")
    return value


def same_tags(gold: TagFile, other: TagFile) -> None:
    """Raises InputError if two files differ in lines, or a line in tags."""
    if len(gold) != len(other):
        raise InputError(f"{len(other)} lines, but {len(gold)} in {gold.path}", where=other.path)
    wrong = np.flatnonzero(np.diff(gold.offsets) != np.diff(other.offsets))
    if len(wrong):
        line, sizes = wrong[0], (np.diff(other.offsets)[wrong[0]], np.diff(gold.offsets)[wrong[0]])
        raise InputError(f"{sizes[0]} tags, but {sizes[1]} in {gold.path}", where=f"{other.path}:{line + 1}")
