"""Score files: one number per segment, as lines, a table's column, a submission or a program's output."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.numerals import is_real, natural, real
from features.storage.files import atomic_file, read_lines
from qe.data.headers import Pair, classes_of, known_headers, no_column, numbers_of
from qe.data.reading import OF_MISSING, Reading, read_table
from qe.data.split import LabelScale
from qe.data.table_rows import is_table
from qe.display.summary import Printable

# Lines before the records: bytes on disk, parameters, models of an ensemble; one number each
HEADER_LINES = 3
Forms = Sequence[Sequence[str]]
Fields = Mapping[str, str]
_WHOLE = ("segment", "index", "rank")


@dataclass(frozen=True)
class Record:
    """A line about a segment of a system, or about one of its words, gaps or source words (`kind`)."""

    system: str
    segment: int
    value: float
    location: str
    kind: str = ""
    index: int = 0
    rank: int = 0


SKIPPED = Record("", 0, 0.0, "")  # instead of a record: the line has none


def fields_of(line: str) -> list[str]:
    return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()


def named_fields(line: str, forms: Forms) -> Fields | None:
    """The fields of a line by name, by the first form with as many fields and whole numbers where due."""
    fields = fields_of(line)
    for form in forms:
        record = dict(zip(form, fields, strict=False))
        numbers = [record[name] for name in _WHOLE if name in record]
        if len(form) == len(fields) and None not in map(natural, numbers):
            return record
    return None


def first_record_line(path: Path) -> str:
    return next((line for line in islice(read_lines(path), HEADER_LINES + 1) if len(fields_of(line)) > 1), "")


def read_records(
    path: Path, parse: Callable[[str, str], Record | None], expected: str, remedy: str = ""
) -> list[Record]:
    """The records of the lines that are neither empty nor headers; `parse` takes a line and its location."""
    records: list[Record] = []
    for number, line in enumerate(read_lines(path), start=1):
        header = not records and number <= HEADER_LINES and len(fields_of(line)) == 1
        if header or not line.strip():
            continue
        record = parse(line, f"{path}:{number}")
        if record is None:
            remedy = f"separate fields by one tab{remedy}"
            raise InputError(f"expected {expected}", location=f"{path}:{number}", remedy=remedy)
        if record is not SKIPPED:
            records.append(record)
    if not records:
        raise InputError("the file is empty", location=path)
    return records


def check_one_system(names: Iterable[str], path: Path) -> None:
    distinct = dict.fromkeys(names)
    if len(distinct) != 1:
        raise InputError(
            f"records of {len(distinct)} systems ({', '.join(distinct)})",
            location=path,
            remedy="give one file per system",
        )


def in_order(
    records: Sequence[Record], key: str = "segment", noun: str = "segment", starts: Sequence[int] = (0, 1)
) -> list[Record]:
    """The records by their numbers `key`, which count from one of the starts, none missing, none twice.

    Raises InputError, with file and line, for a number that is given twice or out of range.

    >>> [record.value for record in in_order([Record("a", 2, 0.5, "f:1"), Record("a", 1, 0.25, "f:2")])]
    [0.25, 0.5]
    """
    by_number: dict[int, Record] = {}
    for record in records:
        first = by_number.setdefault(getattr(record, key), record)
        if first is not record:
            problem = f"{noun} {getattr(record, key)} is given twice, first at {first.location}"
            raise InputError(problem, location=record.location)
    start = min(by_number, default=0)
    start = start if start in starts else starts[-1]
    expected = range(start, start + len(records))
    for number, record in by_number.items():
        if number not in expected:
            missing = next(other for other in expected if other not in by_number)
            raise InputError(
                f"{noun} {number} is there, but {missing} is missing, among {len(records)}",
                location=record.location,
                remedy=f"numbers count from {' or from '.join(map(str, starts))}, none missing",
            )
    return [by_number[number] for number in expected]


DEFAULT_COLUMNS = ("score", "prediction", "predicted", "label")
_WMT12 = (("method", "segment", "score", "rank"),)
_TASK = (("pair", "method", "segment", "score"),)  # submissions to WMT QE tasks since 2020
_PAIR = re.compile(r"[A-Za-z]{2,3}-[A-Za-z]{2,3}|multilingual", re.IGNORECASE)
# The name of the file since version 1.1, the variance with --mc_dropout.
_COMET = re.compile(r"((?P<name>[^\t]*)\t)?Segment (?P<segment>\d+)\tscore: (?P<score>\S+)(\tvariance: \S+)?")
_COMET_TOTAL = re.compile(r"[^\t]*\t(system-)?score: \S+|System score: \S+|Predictions saved in: .+")


@dataclass(frozen=True, eq=False)
class Submission(Printable):
    """One method's scores (n,) and ranks (n,), by segment; None for what was not submitted."""

    method: str
    scores: FloatArray | None
    ranks: IntArray | None

    @property
    def segments(self) -> int:
        given = self.ranks if self.scores is None else self.scores
        return 0 if given is None else len(given)


def ranks_of(quality: FloatArray) -> IntArray:
    """(n,) ranks by falling quality, 1 the best; ties are ranked in the order of the segments."""
    ranks = np.empty(len(quality), np.int64)
    ranks[np.argsort(-quality, kind="stable")] = np.arange(1, len(quality) + 1)
    return ranks


@dataclass(frozen=True, eq=False)
class ScoreFile(Printable):
    """The numbers (n,) of one file.

    Attributes
    ----------
    name : str
        The method of a submission, otherwise the file's name without endings.
    scores : array of float
        For a submission of ranks alone n + 1 - rank, higher is better.
    submitted : Submission or None
        The submission, if the file is one.
    ids : sequence of str or None
        The `id` column of a table, if there is one.
    classes : Pair or None
        The names of 0 and 1, if the labels have two classes.
    upwards : bool or None
        Whether the second class is the better one; None: unknown.
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
        """The scores as a submission; without ranks, ranked by falling quality, ties by segment."""
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

    Submissions to later tasks and what `comet-score` prints are read, too; their segments count from 0 or 1.
    A file named .tsv, .csv, .jsonl or .parquet is a table, unless its first line is one number or of a
    submission.
    Raises InputError, with file and line, for values that are missing, no numbers or off the scale.

    Parameters
    ----------
    column : str or None, default=None
        Column, for tables; default `score`, `prediction`, `predicted`, `label`, the only one, or the only
        one with a header in use for scores.
    low, high : float or None, default=None
        The declared scale; values outside are errors.
    ranks_suffice : bool, default=False
        Whether a submission of ranks alone is accepted.
    """
    scale = LabelScale("score", low, high, higher_is_better=True)
    first = "" if ".parquet" in path.suffixes else next(read_lines(path), None)
    if first is None:
        raise InputError("the file is empty", location=path, remedy="give one score per line")
    submitted = read_submission(path) if is_submission(first) else None
    if submitted is not None and submitted.scores is None:
        if not ranks_suffice or submitted.ranks is None:
            raise InputError("the submission holds ranks only, but scores are needed", location=path)
        falling = (len(submitted.ranks) + 1 - submitted.ranks).astype(np.float64)
        return ScoreFile(path, submitted.method, falling, submitted)
    if submitted is not None and submitted.scores is not None:
        name, scores = submitted.method, submitted.scores
    elif first and (is_comet(path) or _task_fields(first_record_line(path))):
        _, systems = read_comet(path)
        check_one_system(systems, path)
        ((system, scores),) = systems.items()
        name = system.rpartition(" ")[2]  # without the language pair
    else:
        return _read_column(path, column, scale, table=is_table(path, of_tools=False) and not is_real(first))
    outside = np.flatnonzero(scale.clip(scores) != scores)
    if len(outside):
        problem = f"the score of segment {outside[0] + 1} is {scores[outside[0]]:g}, off the declared scale"
        raise InputError(problem, location=path)
    return ScoreFile(path, name, scores, submitted)


def _read_column(path: Path, name: str | None, scale: LabelScale, *, table: bool) -> ScoreFile:
    """The scores of a table's column or of the lines; labels of two classes are 0 and 1."""
    reading, ids = Reading(path.parent), None
    if table:
        columns = read_table(reading, path)
        names = [name] if name is not None else [known for known in DEFAULT_COLUMNS if known in columns]
        names = names or (list(columns) if len(columns) == 1 else [])
        usual = known_headers("scores", list(columns))
        names = names or (usual if len(usual) == 1 else [])
        if not names:
            remedy = f"name one of {', '.join(columns)}"
            raise InputError("which column holds the scores?", location=path, remedy=remedy)
        if names[0] not in columns:
            raise no_column(names[0], columns, path)
        column = columns[names[0]]
        ids = next((columns[header].texts for header in known_headers("id", list(columns))), None)
    else:
        column = reading.lines(path)
    classes, upwards = classes_of(column.texts) or (None, None)
    if classes is not None:
        column = replace(column, texts=numbers_of(column.texts, classes))
    scores = reading.numbers(column, "score", scale.low, scale.high)
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    return ScoreFile(path, stem, scores, ids=ids, classes=classes, upwards=upwards)


def read_predictions(path: Path, column: str | None = None, *, ranks_suffice: bool = False) -> ScoreFile:
    try:
        return read_scores(path, column, ranks_suffice=ranks_suffice)
    except InputError as error:
        if error.remedy not in OF_MISSING:
            raise
        remedy = "predict every segment, or leave it out here and among the gold labels"
        raise InputError(error.problem, location=error.location, remedy=remedy) from None


def same_segments(gold: ScoreFile, files: Mapping[str, ScoreFile]) -> None:
    """Raises InputError if a file has other segments than the gold; ids 0 to n - 1 are those from 1 to n."""
    for name, file in files.items():
        if len(file.scores) != len(gold.scores):
            raise InputError(
                f"{len(file.scores)} scores of '{name}', but {len(gold.scores)} gold labels in {gold.path}",
                location=file.path,
            )
        if gold.ids is None or file.ids is None or _numbered_alike(gold.ids, file.ids):
            continue
        for row, (expected, actual) in enumerate(zip(gold.ids, file.ids, strict=True), start=1):
            if expected != actual:
                raise InputError(
                    f"segment {row} has id '{actual}', but '{expected}' in {gold.path}",
                    location=file.path,
                    remedy="put both files in the same order",
                )


def _numbered_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    counted = sorted((first, second), key=lambda ids: "0" not in ids)
    if not all(text.isdecimal() for ids in counted for text in ids):
        return False
    from_0, from_1 = ([int(text) for text in ids] for ids in counted)
    return sorted(from_0) == list(range(len(from_0))) and [number + 1 for number in from_0] == from_1


def read_comet(path: Path) -> tuple[str, dict[str, FloatArray]]:
    """The metric (empty if the file does not name it), and system -> (n,) scores in order.

    Systems of a submission have their language pair before the name.
    """
    if _is_json(path):
        return _json_scores(path)
    expected = "PAIR, METHOD, SEGMENT, SCORE, or a line of comet-score"
    by_system: dict[str, list[Record]] = {}
    for record in read_records(path, partial(_printed, path), expected):
        by_system.setdefault(record.system, []).append(record)
    ordered = {name: in_order(records) for name, records in by_system.items()}
    return "", {name: np.array([one.value for one in records]) for name, records in ordered.items()}


def _printed(path: Path, line: str, location: str) -> Record | None:
    comet, fields = _COMET.fullmatch(line), _task_fields(line)
    if comet:
        system = Path(comet["name"] or path.stem).name.replace(" ", "_")
        return Record(system, int(comet["segment"]), _finite(comet["score"], location), location)
    if fields is not None:
        system = f"{fields['pair']} {fields['method'].replace(' ', '_')}"
        return Record(system, int(fields["segment"]), _finite(fields["score"], location), location)
    return SKIPPED if _COMET_TOTAL.fullmatch(line) else None


def is_comet(path: Path) -> bool:
    """Whether a file is what `comet-score` prints, or what it writes with `--to_json` (.json)."""
    return _is_json(path) or any(_COMET.fullmatch(line) for line in islice(read_lines(path), 1))


def _is_json(path: Path) -> bool:
    return path.name.removesuffix(".gz").lower().endswith(".json")


def _task_fields(line: str) -> Fields | None:
    fields = named_fields(line, _TASK)
    return fields if fields is not None and _PAIR.fullmatch(fields["pair"]) else None


def _finite(value: object, location: str) -> float:
    try:
        number = real(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if _is_number(number) and np.isfinite(float(number)):  # type: ignore[arg-type]
        return float(number)  # type: ignore[arg-type]
    raise InputError(f"the score is {value!r}, not a finite number", location=location)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _json_scores(path: Path) -> tuple[str, dict[str, FloatArray]]:
    content = Reading(path.parent).json(path)
    systems = content if isinstance(content, dict) else {path.stem: content}
    if not systems or not all(isinstance(rows, list) and rows for rows in systems.values()):
        raise InputError(
            "is no JSON of comet-score",
            location=path,
            remedy="it holds a list of scored segments for each system",
        )
    segments = {f"{path}:{name}:{i}": row for name, rows in systems.items() for i, row in enumerate(rows)}
    for location, segment in segments.items():
        if not isinstance(segment, dict):
            raise InputError("must be a JSON object", location=location)
    first = next(iter(segments.values()))
    numbers = [key for key, value in first.items() if _is_number(value) and key != "variance"]
    metrics = [key for key in numbers if all(key in row for row in segments.values())]
    if len(metrics) != 1:
        raise InputError(
            f"{len(metrics)} scores of a segment ({', '.join(metrics) or 'none'})",
            location=path,
            remedy="each segment has one, such as COMET",
        )
    return metrics[0], {
        Path(name).name.replace(" ", "_"): np.array(
            [_finite(row.get(metrics[0]), f"{path}:{name}:{i}") for i, row in enumerate(rows)]
        )
        for name, rows in systems.items()
    }


def is_submission(line: str) -> bool:
    return "\t" in line and named_fields(line, _WMT12) is not None


def read_submission(path: Path) -> Submission:
    """Reads one method's file: METHOD, SEGMENT, SCORE, RANK, separated by tabs, in any order, no header.

    Segments count from 0 or from 1; rank 1 is the best segment, and no rank is given twice. A submission to
    one subtask alone has 0 in the other's column throughout (Callison-Burch et al. 2012, 6.1).

    Raises InputError, with file and line, for another number of fields, a second method, scores that are no
    numbers, a segment given twice or missing, ranks that are not 1 .. n each once, and neither scores nor
    ranks.
    """
    records = read_records(path, _submitted, "METHOD, SEGMENT, SCORE, RANK")
    check_one_system((record.system for record in records), path)
    ordered, ranked = in_order(records), any(record.rank for record in records)
    scores = np.array([record.value for record in ordered])
    if not ranked and not scores.any():
        raise InputError("neither scores nor ranks: both columns are 0 throughout", location=path)
    if ranked:
        in_order(records, "rank", "rank", starts=(1,))
    ranks = np.array([record.rank for record in ordered], np.int64) if ranked else None
    return Submission(records[0].system, scores if scores.any() else None, ranks)


def _submitted(line: str, location: str) -> Record | None:
    fields = named_fields(line, _WMT12)
    if fields is None:
        return None
    score, rank = _finite(fields["score"], location), int(fields["rank"])
    return Record(fields["method"], int(fields["segment"]), score, location, rank=rank)


def write_submission(path: Path, method: str, scores: FloatArray, quality: FloatArray | None = None) -> None:
    """Writes scores (n,) with their ranks as a submission to WMT12, atomically.

    Raises InputError for a method with tabs or line feeds and for scores that are not finite.

    Parameters
    ----------
    quality : array of float or None, default=None
        What is ranked, higher is better; default the scores (pass `scale.sign * scores` if lower scores are
        better).
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
