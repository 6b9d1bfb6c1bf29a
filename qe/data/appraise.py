"""Exports of Appraise (`ExportSystemScoresToCSV`): judgements of translations, no header."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from features.basics.errors import InputError, unknown_name
from features.basics.numerals import real
from features.storage.files import read_lines
from qe.data.delimited import Dialect

_TYPES: Final = ("TGT", "CHK", "REF", "BAD")
_JUDGED: Final = "TGT"  # the others control the annotators: repeated, damaged, and human translations
_CSV: Final = Dialect("csv", ",", True)
_TUTORIAL: Final = re.compile(r"(^|[-_#])tutorial\d*$", re.IGNORECASE)
_TUTORIAL_ITEMS: Final = 1_000_001  # the first number of items of tutorials
_FILLER: Final = re.compile(r"#(incomplete|duplicate)[-_]?\d*$", re.IGNORECASE)  # documents that fill a batch


@dataclass(frozen=True)
class Judgement:
    """The score that an annotator gave a translation.

    system    several that gave the same translation are joined by `+`
    pair      of languages, such as `eng-deu`
    document  empty if the file names none
    line      of the file, from 1
    finished  time at which the answer was given; 0 if the file has none
    """

    annotator: str
    system: str
    item: str
    pair: str
    score: float
    document: str
    line: int
    finished: float = 0.0


def is_appraise(path: Path) -> bool:
    try:
        fields = next(read_lines(path), "").split(",")
    except InputError:  # told by who reads it as a table
        return False
    return len(fields) >= 7 and fields[3].strip('"') in _TYPES and _number(fields[6].strip('"')) is not None


def judgements(path: Path, pair: str | None = None) -> tuple[list[Judgement], str]:
    """Judgements of translations, and a sentence on those that are left out (empty if none).

    Left out are whole documents, control items, tutorials, documents that fill up a batch (`#incomplete`,
    `#duplicate`), and earlier answers of an annotator to the same item: the latest counts. `pair` is needed
    if there are several. Raises InputError, with file and line, for lines of another form.
    """
    every = list(_rows(path))
    counts = Counter(_exclusion(row) for row in every)
    rows = [row for row in every if not _exclusion(row)]
    known = list(dict.fromkeys(row.pair for row in rows))
    if not known:
        raise InputError("there are no judgements of translations (type TGT)", location=path)
    if pair is None and len(known) > 1:
        raise InputError(
            "which language pair?", location=path, remedy=f"choose with --pair: {', '.join(known)}"
        )
    if pair is not None and pair not in known:
        raise unknown_name("language pair", pair, known, location=path)
    chosen = [row for row in rows if row.pair == (pair or known[0])]
    latest: dict[tuple[str, ...], Judgement] = {}
    for row in chosen:
        key = (row.annotator, row.system, row.document, row.item)
        if key not in latest or row.finished >= latest[key].finished:
            latest[key] = row
    counts["earlier answers of the same annotator"] = len(chosen) - len(latest)
    excluded = [f"{count} {kind}" for kind, count in counts.items() if kind and count]
    note = f"{', '.join(excluded)} are left out" if excluded else ""
    return sorted(latest.values(), key=lambda row: row.line), note


def _exclusion(row: Judgement) -> str:
    number = int(row.item) if row.item.isascii() and row.item.isdigit() else 0
    if number >= _TUTORIAL_ITEMS or any(map(_TUTORIAL.search, (row.system, row.document))):
        return "judgements of tutorials"
    return "judgements of documents that fill a batch" if _FILLER.search(row.document) else ""


def _rows(path: Path) -> Iterator[Judgement]:
    for line, fields in _CSV.records(read_lines(path), path):
        score = _number(fields[6]) if len(fields) >= 7 else None
        if score is None or fields[3] not in _TYPES:
            raise InputError(
                "expected annotator, system, item, type, source language, target language, score",
                location=f"{path}:{line}",
                remedy=f"types are {', '.join(_TYPES)}",
            )
        whole_document = len(fields) > 8 and fields[8].strip().lower() == "true"
        if fields[3] == _JUDGED and not whole_document:
            document = fields[7] if len(fields) > 8 else ""
            pair = f"{fields[4]}-{fields[5]}"
            finished = (_number(fields[-1]) if len(fields) > 9 else None) or 0.0
            yield Judgement(fields[0], fields[1], fields[2], pair, score, document, line, finished)


def standardised(rows: Sequence[Judgement]) -> list[float]:
    """Scores standardised by annotator; NaN for an annotator who always gave the same one."""
    own: dict[str, list[float]] = {}
    for row in rows:
        own.setdefault(row.annotator, []).append(row.score)
    moments: Mapping[str, tuple[float, float]] = {
        name: (float(np.mean(scores)), float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0)
        for name, scores in own.items()
    }
    return [
        (row.score - moments[row.annotator][0]) / moments[row.annotator][1]
        if moments[row.annotator][1] > 0
        else float("nan")
        for row in rows
    ]


def _number(text: str) -> float | None:
    try:
        value = real(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
