"""The WMT12 submission format: METHOD, SEGMENT, SCORE, RANK, tab-separated, no header.

Segments count from 1, rank 1 is the best segment, no rank is given twice. A submission to one subtask alone
has 0 in the other's column throughout: no ranks, or no scores. Callison-Burch et al. 2012, 6.1; the scorer of
the task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.numerals import integer, real
from features.storage.files import atomic_file, read_lines
from qe.display.summary import summarised

_MOST = 10**9  # segments


@summarised
@dataclass(frozen=True, eq=False)
class Submission:
    """One method's scores (n,) and ranks (n,), by segment; None for what was not submitted."""

    method: str
    scores: FloatArray | None
    ranks: IntArray | None

    @property
    def segments(self) -> int:
        given = self.ranks if self.scores is None else self.scores
        return 0 if given is None else len(given)


def ranks_of(quality: FloatArray) -> IntArray:
    """(n,) ranks by falling quality, 1 the best.

    Equal values are ranked in the order of the segments.

    >>> ranks_of(np.array([2.0, 3.0, 2.0]))
    array([2, 1, 3])
    """
    ranks = np.empty(len(quality), np.int64)
    ranks[np.argsort(-quality, kind="stable")] = np.arange(1, len(quality) + 1)
    return ranks


def write_submission(path: Path, method: str, scores: FloatArray, quality: FloatArray | None = None) -> None:
    """Writes scores (n,) with their ranks, atomically.

    Raises InputError for a method with tabs or line feeds and for scores that are not finite.

    Parameters
    ----------
    quality : array of float or None, default=None
        What is ranked, higher is better; default the scores (pass `scale.sign * scores` where lower
        scores are better).
    """
    if not method or any(c in method for c in "\t\n\r"):
        raise InputError(f"a method name must be text without tabs and line ends, but got {method!r}")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(f"the score of segment {row + 1} is {scores[row]}", location=path)
    ranks = ranks_of(scores if quality is None else quality)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        for segment, (score, rank) in enumerate(zip(scores.tolist(), ranks.tolist(), strict=True), start=1):
            stream.write(f"{method}\t{segment}\t{score!r}\t{rank}\n")


def is_submission(line: str) -> bool:
    """Whether the first line of a file looks like a submission.

    >>> is_submission("SYS\\t1\\t3.5\\t2"), is_submission("id\\tsource\\ttarget\\tscore")
    (True, False)
    """
    fields = line.split("\t")
    return len(fields) == 4 and fields[1].strip().isdigit() and fields[3].strip().isdigit()


def read_submission(path: Path) -> Submission:
    """Reads one method's file; the lines may come in any order.

    Raises InputError, with file and line, for another number of fields, a second method, scores that are no
    numbers, a segment given twice or missing, ranks that are not 1 .. n each once, and neither scores nor
    ranks.
    """
    rows = [_fields(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), start=1)]
    if not rows:
        raise InputError("the file is empty", location=path)
    method = rows[0][0]
    for number, row in enumerate(rows, start=1):
        if row[0] != method:
            raise InputError(
                f"method '{row[0]}' after '{method}'",
                location=f"{path}:{number}",
                remedy="one file per method",
            )
    order = _permutation([row[1] for row in rows], "segment", path)
    scores, ranks = np.empty(len(rows)), np.empty(len(rows), np.int64)
    scores[order] = [row[2] for row in rows]
    ranks[order] = [row[3] for row in rows]
    if not ranks.any():
        if not scores.any():
            raise InputError("neither scores nor ranks: both columns are 0 throughout", location=path)
        return Submission(method, scores, None)
    _permutation([row[3] for row in rows], "rank", path)
    return Submission(method, scores if scores.any() else None, ranks)


def _fields(line: str, location: str) -> tuple[str, int, float, int]:
    fields = line.split("\t")
    if len(fields) != 4:
        raise InputError(
            f"expected METHOD, SEGMENT, SCORE, RANK, found {len(fields)} fields",
            location=location,
            remedy="separate fields by one tab",
        )
    try:
        row = fields[0], integer(fields[1]), real(fields[2]), integer(fields[3])
    except ValueError as error:
        raise InputError(f"not a submission line ({error})", location=location) from None
    if max(abs(row[1]), abs(row[3])) > _MOST:
        raise InputError(f"segments and ranks are numbers up to {_MOST:,}", location=location)
    if not np.isfinite(row[2]):
        raise InputError(f"the score is {row[2]}, not a finite number", location=location)
    return row


def _permutation(numbers: Sequence[int], noun: str, path: Path) -> IntArray:
    lines: dict[int, int] = {}
    for line, number in enumerate(numbers, start=1):
        if number in lines:
            raise InputError(
                f"{noun} {number} is given twice, first in line {lines[number]}", location=f"{path}:{line}"
            )
        if not 1 <= number <= len(numbers):
            raise InputError(
                f"{noun} {number} in a file of {len(numbers)} segments",
                location=f"{path}:{line}",
                remedy=f"{noun}s run from 1 to {len(numbers)}, none missing",
            )
        lines[number] = line
    return np.asarray(numbers, np.int64) - 1
