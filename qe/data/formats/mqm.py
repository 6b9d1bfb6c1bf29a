"""MQM annotations as in the WMT metrics tasks: one row per error that a rater marked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from features.basics.errors import InputError
from features.text.tokenizer import Tokenizer
from qe.data.columns import make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.delimited import CsvOptions
from qe.data.format import Format
from qe.data.reading import Column, Reading
from qe.data.table_files import read_table
from qe.data.table_rows import Layout

SCALE = LabelScale("mqm", -25.0, 0.0, higher_is_better=True)
WEIGHTS: Mapping[str, float] = {
    "major": 5.0,
    "minor": 1.0,
    "neutral": 0.0,
    "no-error": 0.0,
    "major/non-translation": 25.0,
    "minor/fluency/punctuation": 0.1,
}
_COLUMNS = ("system", "doc", "seg_id", "rater", "source", "target", "category", "severity")
# The segment's number in other years; docSegId counts within the document.
_NUMBERS = ("seg_id", "globalSegId", "global_seg_id", "docSegId", "doc_seg_id")
_MARK = re.compile(r"</?v>")


@dataclass
class _Segment:
    document: str
    source: str
    target: str
    line: int
    penalties: dict[str, float] = field(default_factory=dict)
    marked: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Mqm(Format):
    """A TSV of MQM annotations (google/wmt-mqm-human-evaluation), or one per split.

    Columns: system, doc, seg_id (or globalSegId, docSegId), rater, source, target, category, severity; `<v>`
    and `</v>` stand around what is wrong. The label is the mean over the raters of minus the weights of their
    errors, -25 .. 0, higher is better; what is worse than -25 is -25. Words that some rater marked as an
    error of some weight are BAD.

    Source: Freitag et al. 2021, "Experts, Errors, and Context", table 12 (weights).

    Parameters
    ----------
    splits : mapping of str to str, default={}
        Split -> file under `path`; without it, `path` itself is the file.
    weights : mapping of str to float, default={}
        Severity, or severity/category with the beginning of a category -> weight; they replace or extend the
        usual ones: major 5, minor 1, neutral and no-error 0, major/non-translation 25,
        minor/fluency/punctuation 0.1.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    source_language: str
    target_language: str
    splits: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    tokenizer: Literal["moses", "whitespace"] = "moses"

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        splits = reading.splits(self.split_files(path), partial(self._split, reading))
        return self.dataset(reading, path, splits, SCALE)

    def _split(self, reading: Reading, name: str, file: Path) -> Split:
        found = self._segments(reading, file)
        rows, lines = list(found.values()), [segment.line for segment in found.values()]
        means = [float(np.mean([*segment.penalties.values()])) for segment in rows]
        texts = {
            "id": ["/".join(key) for key in found],
            "doc_id": [segment.document for segment in rows],
            "source": [segment.source for segment in rows],
            "target": [segment.target for segment in rows],
            "scores": [repr(max(SCALE.low or 0.0, -mean)) for mean in means],
        }
        tags = [_tags(segment, self.tokenizers[1]) for segment in rows]
        if None not in tags and any(segment.marked for segment in rows):
            texts["word_tags"] = [tag or "" for tag in tags]
        columns = {column: Column(cells, file, lines) for column, cells in texts.items()}
        return make_split(reading, name, columns, SCALE, self.tokenizers)

    def _segments(self, reading: Reading, file: Path) -> dict[tuple[str, str, str], _Segment]:
        languages = self.source_language, self.target_language
        layout = Layout("tsv", CsvOptions("tab", quoting=False), languages=languages)
        table = read_table(reading, file, layout)
        numbers = [table[name] for name in _NUMBERS if name in table]
        telling = [column for column in numbers if len({*column.texts}) > 1]
        if numbers:
            table["seg_id"] = (telling or numbers)[0]
        missing = [name for name in _COLUMNS if name not in table]
        if missing:
            raise InputError(
                f"no column '{missing[0]}'",
                location=f"{file}:1",
                remedy=f"MQM annotations have {', '.join(_COLUMNS)}; here are {', '.join(table)}",
            )
        found: dict[tuple[str, str, str], _Segment] = {}
        lines = table["system"].lines
        for line, *cells in zip(lines, *(table[name].texts for name in _COLUMNS), strict=True):
            row = dict(zip(_COLUMNS, cells, strict=True))
            weight = self._weight(row["severity"], row["category"], f"{file}:{line}")
            source, target = (_MARK.sub("", row[side]) for side in ("source", "target"))
            key = (row["system"], row["doc"], row["seg_id"])
            segment = found.setdefault(key, _Segment(row["doc"], source, target, line))
            if (source, target) != (segment.source, segment.target):
                raise InputError(
                    f"another text than in line {segment.line}, of the same system, document and segment",
                    location=f"{file}:{line}",
                )
            segment.penalties[row["rater"]] = segment.penalties.get(row["rater"], 0.0) + weight
            if weight:
                segment.marked |= _marked(row["target"])
        return found

    def _weight(self, severity: str, category: str, location: str) -> float:
        known = {name.casefold(): weight for name, weight in {**WEIGHTS, **self.weights}.items()}
        severity, category = severity.strip().casefold(), category.strip().casefold()
        full = f"{severity}/{category}"
        fitting = [name for name in known if name == severity or ("/" in name and full.startswith(name))]
        if not fitting:
            raise InputError(
                f"no weight for the severity '{severity}'",
                location=location,
                remedy=f"name it under `weights`; known: {', '.join(known)}",
            )
        return known[max(fitting, key=len)]


def _marked(text: str) -> set[int]:
    places: set[int] = set()
    count, inside = 0, False
    for part in re.split(r"(</?v>)", text):
        if _MARK.fullmatch(part):
            inside = part == "<v>"
            continue
        size = len("".join(part.split()))
        places |= set(range(count, count + size)) if inside else set()
        count += size
    return places


def _tags(segment: _Segment, tokenizer: Tokenizer) -> str | None:
    tags, count = ["OK"], 0
    tokens = tokenizer.split(segment.target)
    if "".join(tokens) != "".join(segment.target.split()):
        return None
    for token in tokens:
        bad = not segment.marked.isdisjoint(range(count, count + len(token)))
        tags += ["BAD" if bad else "OK", "OK"]
        count += len(token)
    return " ".join(tags)
