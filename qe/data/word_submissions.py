"""Submissions to the word-level WMT QE tasks: one word, gap or source word per line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from features.basics.errors import InputError
from features.basics.naturals import natural
from features.storage.files import read_lines
from qe.data.tag_files import TAGS, Layout, TagFile

_HEADERS: Final = 3  # bytes on disk, parameters, models of an ensemble: one number a line
_KINDS: Final[Mapping[str, str]] = {
    "mt": "words", "target": "words", "word": "words", "words": "words", "gap": "gaps", "gaps": "gaps",
    "source": "source", "src": "source",
}  # fmt: skip
# The fields of a line: since 2020; 2018 and 2019; before, with or without a number for the word.
_FORMS: Final[Sequence[Sequence[str]]] = (
    ("pair", "method", "kind", "segment", "index", "word", "tag"),
    ("method", "kind", "segment", "index", "word", "tag"),
    ("method", "segment", "index", "word", "score", "tag"),
    ("method", "segment", "index", "word", "tag"),
)


@dataclass(frozen=True)
class _Row:
    system: str
    kind: str
    segment: int
    index: int
    bad: float
    line: int


def is_word_submission(path: Path) -> bool:
    """Whether the first line of several fields looks like one of a submission."""
    lines = islice(read_lines(path), _HEADERS + 1)
    first = next((line for line in lines if len(_fields(line)) > 1), "")
    return _row(first, 0) is not None


def read_word_submission(path: Path, layout: Layout) -> TagFile:
    """Tags of a submission's words, gaps or source words, or of gaps and words in turn.

    The last are the layout `tags`.

    Segments and words count from 0 or from 1.

    Raises InputError, with file and line, for lines of another form, a second system, tags that are missing
    or given twice, and a file without tags of the kinds that the layout asks for.
    """
    rows = list(_rows(path))
    systems = dict.fromkeys(row.system for row in rows)
    if len(systems) > 1:
        raise InputError(
            f"tags of {len(systems)} systems ({', '.join(systems)})",
            location=path,
            remedy="give a file for each",
        )
    numbers = sorted({row.segment for row in rows})
    missing = next((place for place, n in enumerate(numbers, start=numbers[0]) if place != n), None)
    if numbers[0] > 1 or missing is not None:
        what = (
            f"segment {missing} is missing" if missing is not None else f"the first segment is {numbers[0]}"
        )
        raise InputError(what, location=path, remedy="segments count from 0 or from 1, none missing")
    first, count = numbers[0], len(numbers)
    parts = {
        kind: _segments([row for row in rows if row.kind == kind], first, count, path)
        for kind in _wanted(layout)
    }
    absent = [kind for kind, segments in parts.items() if not any(segments)]
    if absent:
        raise InputError(
            f"no tags of {absent[0]}",
            location=path,
            remedy="--layout words, gaps or source names what it has",
        )
    if layout != "tags":
        return _tag_file(parts[layout], path)
    pairs = zip(parts["gaps"], parts["words"], strict=True)
    return _tag_file([_woven(gaps, words, number, path) for number, (gaps, words) in enumerate(pairs)], path)


def _wanted(layout: Layout) -> Sequence[str]:
    return ("gaps", "words") if layout == "tags" else (layout,)


def _rows(path: Path) -> Iterable[_Row]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or (number <= _HEADERS and len(_fields(line)) == 1):
            continue
        row = _row(line, number)
        if row is None:
            raise InputError(
                "expected PAIR, METHOD, TYPE, SEGMENT, INDEX, WORD and OK or BAD",
                location=f"{path}:{number}",
                remedy="separate fields by one tab; TYPE is mt, gap or source",
            )
        yield row


def _fields(line: str) -> list[str]:
    return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()


def _row(line: str, number: int) -> _Row | None:
    fields = _fields(line)
    for form in _FORMS:
        named = dict(zip(form, fields, strict=False))
        kind = _KINDS.get(named.get("kind", "mt").lower())
        segment, index = (natural(named.get(name, "")) for name in ("segment", "index"))
        tag = TAGS.get(named.get("tag", "").upper())
        if len(form) != len(fields) or kind is None or tag is None:
            continue
        if segment is not None and index is not None:
            system = f"{named.get('pair', '')} {named['method']}".strip()
            return _Row(system, kind, segment, index, tag, number)
    return None


def _segments(rows: Sequence[_Row], first: int, count: int, path: Path) -> list[list[float]]:
    by_segment: list[dict[int, _Row]] = [{} for _ in range(count)]
    for row in rows:
        known = by_segment[row.segment - first]
        if row.index in known:
            raise InputError(
                f"index {row.index} of segment {row.segment} is given twice",
                location=f"{path}:{row.line}",
                remedy=f"line {known[row.index].line} has it, too",
            )
        known[row.index] = row
    lowest = min((row.index for row in rows), default=0)
    for known in by_segment:
        for place, index in enumerate(sorted(known), start=lowest):
            if place != index or lowest > 1:
                row = known[index]
                raise InputError(
                    f"index {index} of segment {row.segment}, but {place} is missing",
                    location=f"{path}:{row.line}",
                    remedy="indices count from 0 or from 1",
                )
    return [[known[index].bad for index in sorted(known)] for known in by_segment]


def _woven(gaps: Sequence[float], words: Sequence[float], number: int, path: Path) -> list[float]:
    if len(gaps) != len(words) + 1:
        raise InputError(
            f"{len(gaps)} gaps around {len(words)} words in segment {number} (counted from 0)", location=path
        )
    return [tag for pair in zip(gaps, words, strict=False) for tag in pair] + [gaps[-1]]


def _tag_file(segments: Sequence[Sequence[float]], path: Path) -> TagFile:
    offsets = np.concatenate([[0], np.cumsum([len(tags) for tags in segments])]).astype(np.int64)
    return TagFile(path, np.array([tag for tags in segments for tag in tags], np.float64), offsets, False)
