"""Score files: one number per segment, as lines, a table column, or a program's output.

A submission to a WMT task is read too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import is_real
from features.storage.files import read_lines
from qe.data.classes import Pair, classes_of, numbers_of
from qe.data.headers import known_headers
from qe.data.printed_scores import is_printed, read_printed
from qe.data.reading import Column, Reading
from qe.data.submission import Submission, is_submission, ranks_of, read_submission
from qe.data.table_files import KINDS, read_table
from qe.display.summary import summarised

DEFAULT_COLUMNS = ("score", "prediction", "predicted", "label")


@summarised
@dataclass(frozen=True, eq=False)
class ScoreFile:
    """The numbers (n,) of one file.

    Attributes
    ----------
    name : str
        The method of a submission, otherwise the file's name without endings.
    scores : array of float
        What was scored; of a submission of ranks alone n + 1 - rank, higher is better.
    submitted : Submission or None
        The submission, where the file is one.
    ids : sequence of str or None
        The `id` column of a table, if there is one.
    classes : Pair or None
        Of labels of two classes, the names of 0 and of 1.
    upwards : bool or None
        Whether the second is the better one; None: that is not known.
    """

    path: Path
    name: str
    scores: FloatArray
    submitted: Submission | None = None
    ids: Sequence[str] | None = None
    classes: Pair | None = None
    upwards: bool | None = None

    @property
    def ranks_only(self) -> bool:
        return self.submitted is not None and self.submitted.scores is None

    def submission(self, sign: float = 1.0) -> Submission:
        """The scores as a submission.

        Files without ranks are ranked by falling quality, ties in the order of segments.
        """
        return self.submitted or Submission(self.name, self.scores, ranks_of(sign * self.scores))


def read_scores(
    path: Path,
    column: str | None = None,
    low: float | None = None,
    high: float | None = None,
    *,
    ranks_suffice: bool = False,
) -> ScoreFile:
    """Reads a label file, a TSV, CSV, JSONL or Parquet table, or a submission; plain or gzip.

    Submissions to later tasks and what `comet-score` prints are read, too (`qe.data.printed_scores`).
    A file is a table where its name says so (.tsv, .csv, .jsonl, .parquet) and its first line is neither
    one number nor a submission.
    Raises InputError, with file and line, for values that are missing, no numbers or off the scale; and for a
    scale that is none.

    Parameters
    ----------
    column : str or None, default=None
        Column, for tables; default `score`, `prediction`, `predicted`, `label`, the only one, or the only
        one with a header in use for scores.
    low, high : float or None, default=None
        The declared scale; values outside are errors.
    ranks_suffice : bool, default=False
        Whether a submission of ranks alone is of use; otherwise it is an error.
    """
    if not (-np.inf if low is None else low) < (np.inf if high is None else high):
        raise InputError(f"the low end of a scale must lie below its high end, but got {low} and {high}")
    name = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    table_like = any(suffix.lower().lstrip(".") in KINDS for suffix in path.suffixes)
    first = "" if ".parquet" in path.suffixes else _first_line(path)
    reading = Reading(path.parent)
    if is_submission(first):
        submitted = read_submission(path)
        if submitted.scores is not None:
            _check_scale(submitted.scores, path, low, high)
            return ScoreFile(path, submitted.method, submitted.scores, submitted)
        if not ranks_suffice or submitted.ranks is None:
            raise InputError("the submission holds ranks only, but scores are needed", location=path)
        scores = (len(submitted.ranks) + 1 - submitted.ranks).astype(np.float64)
        return ScoreFile(path, submitted.method, scores, submitted)
    if first and is_printed(path):
        method, scores = read_printed(path)
        _check_scale(scores, path, low, high)
        return ScoreFile(path, method, scores)
    if table_like and not is_real(first):
        table = read_table(reading, path)
        chosen = _chosen(table, column, path)
        ids = next((table[name].texts for name in known_headers("id", list(table))), None)
        return _of_column(reading, chosen, name, (low, high), ids)
    return _of_column(reading, reading.lines(path), name, (low, high))


def _of_column(
    reading: Reading,
    column: Column,
    name: str,
    ends: tuple[float | None, float | None],
    ids: Sequence[str] | None = None,
) -> ScoreFile:
    classes, upwards = classes_of(column.texts) or (None, None)
    if classes is not None:
        column = replace(column, texts=numbers_of(column.texts, classes))
    scores = reading.numbers(column, "score", *ends)
    return ScoreFile(column.path, name, scores, ids=ids, classes=classes, upwards=upwards)


def same_segments(gold: ScoreFile, files: Mapping[str, ScoreFile]) -> None:
    """Raises InputError if a file has another number of segments than the gold, or other ids."""
    for name, file in files.items():
        if len(file.scores) != len(gold.scores):
            raise InputError(
                f"{len(file.scores)} scores of '{name}', but {len(gold.scores)} gold labels in {gold.path}",
                location=file.path,
            )
        if gold.ids is None or file.ids is None:
            continue
        for row, (expected, actual) in enumerate(zip(gold.ids, file.ids, strict=True), start=1):
            if expected != actual:
                raise InputError(
                    f"segment {row} has id '{actual}', but '{expected}' in {gold.path}",
                    location=file.path,
                    remedy="put both files in the same order",
                )


def _first_line(path: Path) -> str:
    for line in read_lines(path):
        return line
    raise InputError("the file is empty", location=path, remedy="give one score per line")


def _chosen(table: Mapping[str, Column], column: str | None, path: Path) -> Column:
    names = [column] if column is not None else [name for name in DEFAULT_COLUMNS if name in table]
    names = names or (list(table) if len(table) == 1 else [])
    known = known_headers("scores", list(table))
    names = names or (known if len(known) == 1 else [])
    if not names or names[0] not in table:
        raise InputError(
            f"no column '{column}'" if column else "which column holds the scores?",
            location=path,
            remedy=f"name one of {', '.join(table)}",
        )
    return table[names[0]]


def _check_scale(scores: FloatArray, path: Path, low: float | None, high: float | None) -> None:
    outside = (scores < (-np.inf if low is None else low)) | (scores > (np.inf if high is None else high))
    if outside.any():
        segment = int(np.flatnonzero(outside)[0])
        raise InputError(
            f"the score of segment {segment + 1} is {scores[segment]:g}, off the declared scale",
            location=path,
        )
