"""Tables of scores by system and segment, as metrics and people give them; exports of Appraise."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.assignments import named_file
from features.basics.errors import InputError, known_name, unknown_name
from features.basics.numerals import is_real, real
from features.storage.files import read_lines
from qe.data.delimited import Dialect
from qe.data.headers import HEADERS, key_of
from qe.data.reading import Column, Reading, number_in, number_problem, read_table
from qe.data.score_files import is_comet, read_comet, read_scores
from qe.data.table_rows import ending_of, is_table
from qe.display.summary import Printable

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
    counts: Counter[str] = Counter()
    rows = []
    for row in _rows(path):
        number = int(row.item) if row.item.isascii() and row.item.isdigit() else 0
        if number >= _TUTORIAL_ITEMS or any(map(_TUTORIAL.search, (row.system, row.document))):
            counts["judgements of tutorials"] += 1
        elif _FILLER.search(row.document):
            counts["judgements of documents that fill a batch"] += 1
        else:
            rows.append(row)
    known = list(dict.fromkeys(row.pair for row in rows))
    if not known:
        raise InputError("there are no judgements of translations (type TGT)", location=path)
    pair = chosen_name(pair, known, "language pair", "--pair", path)
    chosen = [row for row in rows if row.pair == pair]
    latest: dict[tuple[str, ...], Judgement] = {}
    for row in chosen:
        key = (row.annotator, row.system, row.document, row.item)
        if key not in latest or row.finished >= latest[key].finished:
            latest[key] = row
    counts["earlier answers of the same annotator"] = len(chosen) - len(latest)
    excluded = [f"{count} {kind}" for kind, count in counts.items() if count]
    note = f"{', '.join(excluded)} are left out" if excluded else ""
    return sorted(latest.values(), key=lambda row: row.line), note


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
    scores = []
    for row in rows:
        mean, deviation = moments[row.annotator]
        scores.append((row.score - mean) / deviation if deviation > 0 else float("nan"))
    return scores


def _number(text: str) -> float | None:
    try:
        value = real(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


ONE_SYSTEM = "system"  # the name of the only system, where none has a name


@dataclass(eq=False)
class ScoreTable(Printable):
    """What one scorer (a metric, or people) says, before systems and segments are known to all.

    Parameters
    ----------
    segments : dict of pair of str and str to float, default={}
        (system, segment) -> score.
    systems : dict of str to float, default={}
        System -> score of the system as a whole.
    notes : tuple of str, default=()
        What the file holds that is no score here.
    runs : dict of pair of str and str to sequence of float, default={}
        (system, segment) -> scores of each run, which `segments` averages; empty without a column `run`.
    official : bool, default=False
        Whether `systems` are the scores of systems in any case; otherwise they are dropped where they are the
        means of the segment scores, which are then averaged over the judged translations.
    """

    name: str
    segments: dict[tuple[str, str], float] = field(default_factory=dict)
    systems: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    official: bool = False
    runs: dict[tuple[str, str], Sequence[float]] = field(default_factory=dict)

    def turned(self) -> "ScoreTable":
        """The same scores with the other sign, and a note of it."""
        note = f"'{self.name}' counts errors: its scores are turned, higher is better"
        segments = {key: -score for key, score in self.segments.items()}
        systems = {name: -score for name, score in self.systems.items()}
        return replace(self, segments=segments, systems=systems, notes=(*self.notes, note))

    def matrix(self, systems: Sequence[str], segments: Sequence[str]) -> FloatArray | None:
        """(s, k) segment scores, NaN if there is none; None without any."""
        if not self.segments:
            return None
        column = {name: i for i, name in enumerate(systems)}
        row = {name: i for i, name in enumerate(segments)}
        table = np.full((len(segments), len(systems)), np.nan)
        for (system, segment), score in self.segments.items():
            if system in column and segment in row:
                table[row[segment], column[system]] = score
        return table

    def system_names(self) -> list[str]:
        """Systems in the order of the file."""
        return list(dict.fromkeys([*(system for system, _ in self.segments), *self.systems]))

    def system_means(self, systems: Sequence[str]) -> FloatArray | None:
        """(k,) scores of systems, NaN if there is none; None without any."""
        if not self.systems:
            return None
        return np.array([self.systems.get(name, np.nan) for name in systems])


def averages(parts: Mapping[tuple[str, str], Sequence[float]]) -> dict[tuple[str, str], float]:
    defined = {key: [value for value in values if value == value] for key, values in parts.items()}
    return {key: sum(values) / len(values) if values else float("nan") for key, values in defined.items()}


def read_appraise(path: Path, pair: str | None = None) -> list[ScoreTable]:
    """Scores of translations, raw (`score`) and standardised by annotator (`z`), as means over annotators."""
    rows, note = judgements(path, pair)
    notes = (f"{path.name}: {note}",) if note else ()
    z = standardised(rows)
    documents: dict[str, set[str]] = {}
    for row in rows:
        documents.setdefault(row.item, set()).add(row.document)
    several = any(len(named) > 1 for named in documents.values())  # items are counted in each document
    tables = []
    for name, values in (("score", [row.score for row in rows]), ("z", z)):
        parts: dict[tuple[str, str], list[float]] = {}
        for row, value in zip(rows, values, strict=True):
            segment = f"{row.document}:{row.item}" if several else row.item
            for system in row.system.split("+"):
                parts.setdefault((system, segment), []).append(value)
        tables.append(ScoreTable(name, averages(parts), notes=notes))
    return tables


# Names of the columns of segments, systems and judges: the first that a table has.
SEGMENT = ("segment", "id", "index", *HEADERS["id"])
SYSTEM = ("system", "sys", "system_id", "system_name", "mt_system")
PAIR = ("pair", "language_pair", "lp", "langs")
JUDGE = ("judge", "judge_id", "rater", "annotator", "annotator_id")
RUN = ("run", "run_id", "replication")
# Their numbers tell rows apart and are scores of nothing.
_IDENTIFIERS = {*SEGMENT, *SYSTEM, *PAIR, *JUDGE, *RUN, "document", "document_id", "doc", "doc_id", "seed"}
_MISSING = ("", "none", "nan", "na", "null")


def read_metric_tables(
    arguments: Sequence[str], columns: Sequence[str] | None = None, pair: str | None = None
) -> tuple[list[ScoreTable], list[Path]]:
    """Metrics from tables, FILE or SYSTEM=FILE, by default all columns of numbers; and the files."""
    metrics: dict[str, ScoreTable] = {}
    files = [named_file(argument) for argument in arguments]
    for system, path in files:
        for table in read_table_of_scores(path, system, columns, pair):
            existing = metrics.setdefault(table.name, ScoreTable(table.name))
            twice = [" ".join(key) for key in table.segments if key in existing.segments]
            twice += [system for system in table.systems if system in existing.systems]
            if twice:
                problem = f"'{existing.name}' of '{twice[0]}' has been read from another file already"
                raise InputError(problem, location=path)
            existing.segments |= table.segments
            existing.systems |= table.systems
            existing.runs |= table.runs
    for name in columns or ():
        if name not in metrics:
            names = {
                t.name: None for system, path in files for t in read_table_of_scores(path, system, None, pair)
            }
            raise unknown_name("column", name, names, location="--columns")
    if not metrics:
        raise InputError("the tables hold no column of numbers", location=files[0][1] if files else None)
    return list(metrics.values()), [path for _, path in files]


def read_table_of_scores(
    path: Path, system: str, columns: Sequence[str] | None, pair: str | None = None
) -> list[ScoreTable]:
    """One ScoreTable per column of numbers; without a column of segments, scores of whole systems."""
    if ending_of(path) == "csv" and is_appraise(path):
        return [table for table in read_appraise(path, pair) if columns is None or table.name in columns]
    if not is_table(path, of_tools=False):
        if is_comet(path):
            return [_of_comet(path, system)]
        file = read_scores(path)
        scores = {(system or ONE_SYSTEM, str(i)): float(v) for i, v in enumerate(file.scores, start=1)}
        return [ScoreTable(file.name, scores)]
    reading = Reading(path.parent)
    cells = {name: reading.stripped(column) for name, column in read_table(reading, path).items()}
    cells = _of_pair(cells, pair, path)
    segment, named, judge, run = (_first(names, cells) for names in (SEGMENT, SYSTEM, JUDGE, RUN))
    keys = {named, judge, run, segment, _first(PAIR, cells)}
    if segment is None and named is None:
        raise InputError("has neither a column 'system' nor 'segment'", location=f"{path}:1")
    if named is not None and system:
        raise InputError(f"has a column '{named}', and is given as that of '{system}'", location=path)
    rows = len(next(iter(cells.values())))
    systems = cells[named].texts if named is not None else [system or ONE_SYSTEM] * rows
    segments = cells[segment].texts if segment is not None else None
    repeats = [cells[name].texts for name in (judge, run) if name is not None]
    _check_keys(cells, systems, segments, repeats)
    tables = []
    for name, column in cells.items():
        given = [text for text in column.texts if text.strip().lower() not in _MISSING]
        is_metric = key_of(name) not in _IDENTIFIERS and given and all(map(is_real, given))
        if name not in keys and (is_metric if columns is None else name in columns):
            tables.append(_table(name, column, systems, segments, run is not None and judge is None))
    return tables


def _of_pair(cells: Mapping[str, Column], pair: str | None, path: Path) -> dict[str, Column]:
    name = _first(PAIR, cells)
    if name is None:
        return dict(cells)
    existing = list(dict.fromkeys(cells[name].texts))
    pair = chosen_name(pair, existing, "language pair", "--pair", path)
    rows = [row for row, text in enumerate(cells[name].texts) if text == pair]
    return {key: column.take(rows) for key, column in cells.items()}


def _first(names: Sequence[str], cells: Mapping[str, Column]) -> str | None:
    keys = {key_of(cell): cell for cell in cells}
    return next((keys[name] for name in names if name in keys), None)


def _of_comet(path: Path, system: str) -> ScoreTable:
    metric, systems = read_comet(path)
    if system and len(systems) > 1:
        raise InputError(
            f"has the systems {', '.join(systems)}, and is given as that of '{system}'", location=path
        )
    table = ScoreTable(metric or path.name.partition(".")[0])
    for name, scores in systems.items():
        named = system or name
        table.segments |= {(named, str(i)): float(value) for i, value in enumerate(scores, start=1)}
    return table


def _table(
    name: str, column: Column, systems: Sequence[str], segments: Sequence[str] | None, by_run: bool
) -> ScoreTable:
    values = []
    for row, text in enumerate(column.texts):
        missing = row in column.absent or text.strip().lower() in _MISSING
        found = None if missing else number_problem(text, None, None)
        if found is not None:
            raise InputError(f"the score {found[0]}", location=column.location(row), remedy=found[1])
        values.append(float("nan") if missing else number_in(text))
    if segments is None:
        return ScoreTable(name, systems=dict(zip(systems, values, strict=True)))
    parts: dict[tuple[str, str], list[float]] = {}
    for system, segment, value in zip(systems, segments, values, strict=True):
        parts.setdefault((system, segment), []).append(value)
    return ScoreTable(name, averages(parts), runs=dict(parts) if by_run else {})


def _check_keys(
    cells: Mapping[str, Column],
    systems: Sequence[str],
    segments: Sequence[str] | None,
    repeats: Sequence[Sequence[str]],
) -> None:
    first = next(iter(cells.values()))
    rows = zip(systems, segments or [""] * len(systems), *repeats, strict=True)
    seen: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(rows):
        if not key[0].strip() or (segments is not None and not key[1].strip()):
            raise InputError("a score without a system or a segment", location=first.location(row))
        if key in seen:
            what = " ".join(part for part in key if part)
            raise InputError(
                f"'{what}' has two rows (the first is {first.location(seen[key])})",
                location=first.location(row),
                remedy="give one score per system and segment; several judges need a column 'judge', several "
                "runs a column 'run'",
            )
        seen[key] = row


def chosen_name(name: str | None, names: Sequence[str], noun: str, option: str, folder: Path) -> str:
    if name is not None:
        return known_name(noun, name, names, location=option)
    if len(names) > 1:
        raise InputError(
            f"which {noun}?", location=folder, remedy=f"choose one with {option}: {', '.join(names)}"
        )
    return names[0]
