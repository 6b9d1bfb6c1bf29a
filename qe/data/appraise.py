"""Exports of Appraise (`ExportSystemScoresToCSV`): judgements of translations, no header."""

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


@dataclass(frozen=True)
class Judgement:
    """What an annotator gave a translation.

    system    several that gave the same translation are joined by `+`
    item      its number
    pair      of languages, such as `eng-deu`
    document  empty if the file names none
    line      of the file, from 1
    """

    annotator: str
    system: str
    item: str
    pair: str
    score: float
    document: str
    line: int


def is_appraise(path: Path) -> bool:
    """Whether the first line is a judgement.

    Its fields are annotator, system, item, type, two languages and score.
    """
    try:
        fields = next(read_lines(path), "").split(",")
    except InputError:  # told by who reads it as a table
        return False
    return len(fields) >= 7 and fields[3].strip('"') in _TYPES and _number(fields[6].strip('"')) is not None


def judgements(path: Path, pair: str | None = None) -> list[Judgement]:
    """Judgements of translations, without whole documents and control items.

    pair  of languages, as the file has it (`eng-deu`); may be left out where there is one

    Raises InputError, with file and line, for lines of another form, and for an unknown pair.
    """
    rows = list(_rows(path))
    known = list(dict.fromkeys(row.pair for row in rows))
    if not known:
        raise InputError("there are no judgements of translations (type TGT)", location=path)
    if pair is None and len(known) > 1:
        raise InputError(
            "which language pair?", location=path, remedy=f"choose with --pair: {', '.join(known)}"
        )
    if pair is not None and pair not in known:
        raise unknown_name("language pair", pair, known, location=path)
    return [row for row in rows if row.pair == (pair or known[0])]


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
            yield Judgement(fields[0], fields[1], fields[2], pair, score, document, line)


def standardised(rows: Sequence[Judgement]) -> list[float]:
    """Scores standardised by annotator: less the mean, divided by the standard deviation.

    Scores of an annotator who always gave the same one are NaN.
    """
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
