"""Tag files of word-level quality estimation: OK and BAD, P(BAD), rows of `qe score`, WMT submissions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError, known_name
from features.basics.numerals import real
from features.storage.files import read_lines
from qe.data.score_files import (
    Record,
    check_one_system,
    first_record_line,
    in_order,
    named_fields,
    read_records,
)
from qe.data.table_rows import json_rows
from qe.display.summary import Printable

Layout = Literal["tags", "words", "gaps", "source"]
LAYOUTS: tuple[str, ...] = get_args(Layout)
TAGS = {"OK": 0.0, "BAD": 1.0}


@dataclass(frozen=True, eq=False)
class TagFile(Printable):
    """Tags of n segments, one after the other.

    Attributes
    ----------
    bad : array of float
        (t,) P(BAD); for tags 1 for BAD and 0 for OK.
    offsets : array of int
        (n + 1,) tags offsets[i]:offsets[i + 1] belong to segment i.
    probabilities : bool
        Whether `bad` holds probabilities, so that tags need a threshold.
    tags : array of bool or None
        (t,) whether each is tagged BAD, if the file has tags and probabilities.
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
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def parts(self, layout: Layout) -> "dict[str, TagFile]":
        """The words and the gaps of a file that holds both (gap, word, ..., gap); otherwise itself."""
        known_name("layout", layout, LAYOUTS, location="--layout")
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
            "words": self._subset(place % 2 == 1, sizes // 2),
            "gaps": self._subset(place % 2 == 0, sizes // 2 + 1),
        }

    def _subset(self, rows: BoolArray, sizes: IntArray) -> "TagFile":
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        tags = None if self.tags is None else self.tags[rows]
        return TagFile(self.path, self.bad[rows], offsets, self.probabilities, tags)


def read_tags(path: Path) -> TagFile:
    """Reads `OK` and `BAD`, or numbers from 0 to 1, separated by white space, one line per segment.

    Raises InputError for an empty file, other words, numbers outside 0 .. 1, and tags mixed with numbers.
    """
    rows: list[list[float]] = []
    kinds: set[bool] = set()
    for number, line in enumerate(read_lines(path), start=1):
        words = line.split()
        rows.append([_value(word, path, number) for word in words])
        kinds |= {word not in TAGS for word in words}
        if len(kinds) > 1:
            raise InputError(
                "tags and numbers in one file", location=f"{path}:{number}", remedy="OK and BAD, or P(BAD)"
            )
    return _tag_file(rows, path, probabilities=kinds == {True})


# Layout -> the columns of scored rows that hold its probabilities, and its tags.
_COLUMNS: Mapping[str, tuple[str, str]] = {
    "words": ("bad", "tags"),
    "gaps": ("gaps", "gap_tags"),
    "source": ("source_bad", "source_tags"),
}


def is_scored(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".jsonl")


def read_scored(path: Path, layout: Layout) -> TagFile:
    """P(BAD), and tags if there are any, from the JSONL rows of `qe score --tokens`."""
    rows = []
    for number, (row, reason) in enumerate(json_rows(read_lines(path)), start=1):
        if reason:
            raise InputError(reason, location=f"{path}:{number}")
        rows.append((row, f"{path}:{number}"))
    if not rows:
        raise InputError("no rows", location=path)
    if layout == "tags":
        sides = ([_column(row, kind) for row in rows] for kind in ("gaps", "words"))
        columns = _interleaved(*sides)
    else:
        columns = [_column(row, layout) for row in rows]
    tags = [tag for row in columns for _, tag in row]
    bad = [[value for value, _ in row] for row in columns]
    known = None if "" in tags else np.array([tag == "BAD" for tag in tags], bool)
    return _tag_file(bad, path, probabilities=True, tags=known)


_Cell = tuple[float, str]  # P(BAD), and the tag, or nothing


def _column(row: tuple[dict[str, Any], str], layout: str) -> list[_Cell]:
    content, location = row
    name, tag_name = _COLUMNS[layout]
    bad, tags = content.get(name), content.get(tag_name)
    if not isinstance(bad, list) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1 for value in bad
    ):
        raise InputError(
            f"no probabilities `{name}`", location=location, remedy="give what `qe score --tokens` writes"
        )
    if tags is None:
        return [(float(value), "") for value in bad]
    if not isinstance(tags, list) or len(tags) != len(bad) or not all(tag in TAGS for tag in tags):
        raise InputError(f"`{tag_name}` must be OK or BAD for each of `{name}`", location=location)
    return list(zip(map(float, bad), tags, strict=True))


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


def same_tags(gold: TagFile, tags: TagFile) -> None:
    if len(gold) != len(tags):
        raise InputError(f"{len(tags)} lines, but {len(gold)} in {gold.path}", location=tags.path)
    wrong = np.flatnonzero(np.diff(gold.offsets) != np.diff(tags.offsets))
    if len(wrong):
        line, sizes = wrong[0], (np.diff(tags.offsets)[wrong[0]], np.diff(gold.offsets)[wrong[0]])
        raise InputError(
            f"{sizes[0]} tags, but {sizes[1]} in {gold.path}", location=f"{tags.path}:{line + 1}"
        )


# Words that name a kind of place in submissions -> the layout of its tags.
_KINDS: Mapping[str, str] = {
    "mt": "words", "target": "words", "word": "words", "words": "words", "gap": "gaps", "gaps": "gaps",
    "source": "source", "src": "source",
}  # fmt: skip
# The fields of a line: since 2020; 2018 and 2019; before, with or without a number for the word.
_FORMS: Sequence[Sequence[str]] = (
    ("pair", "method", "kind", "segment", "index", "word", "tag"),
    ("method", "kind", "segment", "index", "word", "tag"),
    ("method", "segment", "index", "word", "score", "tag"),
    ("method", "segment", "index", "word", "tag"),
)


def is_word_submission(path: Path) -> bool:
    return _tagged(first_record_line(path), "") is not None


def read_word_submission(path: Path, layout: Layout) -> TagFile:
    """Tags of a submission's words, gaps or source words; for the layout `tags` gaps and words in turn."""
    expected = "PAIR, METHOD, TYPE, SEGMENT, INDEX, WORD and OK or BAD"
    records = read_records(path, _tagged, expected, "; TYPE is mt, gap or source")
    check_one_system((record.system for record in records), path)
    by_segment: dict[int, list[Record]] = {}
    for record in records:
        by_segment.setdefault(record.segment, []).append(record)
    segments = [by_segment[first.segment] for first in in_order([group[0] for group in by_segment.values()])]
    parts = {
        kind: _tags_of(segments, kind) for kind in (("gaps", "words") if layout == "tags" else (layout,))
    }
    for kind, tags in parts.items():
        if not any(tags):
            raise InputError(
                f"no tags of {kind}", location=path, remedy="--layout words, gaps or source names what it has"
            )
    if layout != "tags":
        return _tag_file(parts[layout], path, probabilities=False)
    for number, (gaps, words) in enumerate(zip(parts["gaps"], parts["words"], strict=True)):
        if len(gaps) != len(words) + 1:
            raise InputError(
                f"{len(gaps)} gaps around {len(words)} words in segment {number} (counted from 0)",
                location=path,
            )
    return _tag_file(_interleaved(parts["gaps"], parts["words"]), path, probabilities=False)


def _tagged(line: str, location: str) -> Record | None:
    for form in _FORMS:
        fields = named_fields(line, [form])
        if fields is None:
            continue
        kind, tag = _KINDS.get(fields.get("kind", "mt").lower()), TAGS.get(fields["tag"].upper())
        if kind is not None and tag is not None:
            system = f"{fields.get('pair', '')} {fields['method']}".strip()
            return Record(system, int(fields["segment"]), tag, location, kind, int(fields["index"]))
    return None


def _tags_of(segments: Sequence[Sequence[Record]], kind: str) -> list[list[float]]:
    """The tags of one kind in each segment, by index; all indices count from 0, or all from 1."""
    groups = [[record for record in records if record.kind == kind] for records in segments]
    start = min((record.index for group in groups for record in group), default=0)
    tags = []
    for group in groups:
        noun = f"segment {group[0].segment}: index" if group else ""
        tags.append([record.value for record in in_order(group, "index", noun, starts=(min(start, 1),))])
    return tags


def _interleaved(gaps: Sequence[Sequence[Any]], words: Sequence[Sequence[Any]]) -> list[list[Any]]:
    rows = zip(gaps, words, strict=True)
    return [
        [tag for pair in zip(around, inside, strict=False) for tag in pair] + list(around[len(inside) :])
        for around, inside in rows
    ]


def _tag_file(
    rows: Sequence[Sequence[float]], path: Path, probabilities: bool, tags: BoolArray | None = None
) -> TagFile:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    if not offsets[-1]:
        raise InputError("no tags", location=path)
    bad = np.array([tag for row in rows for tag in row], np.float64)
    return TagFile(path, bad, offsets, probabilities, tags)
