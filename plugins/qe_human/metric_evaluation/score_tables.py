"""Tables of scores: columns system and segment, and one column per metric."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from features.basics.assignments import named_file
from features.basics.errors import InputError, unknown_name
from features.basics.numerals import is_real
from qe.data.appraise import is_appraise
from qe.data.headers import HEADERS, key_of
from qe.data.reading import Column, Reading, number_in, number_problem
from qe.data.score_files import is_comet, read_comet, read_scores
from qe.data.table_files import read_table
from qe.data.table_rows import KINDS
from qe_human.metric_evaluation.appraise import read_appraise
from qe_human.metric_evaluation.scores import ONE_SYSTEM, ScoreTable, averages

# Names of the columns of segments, systems and judges: the first that a table has.
SEGMENT = ("segment", "id", "index", *HEADERS["id"])
SYSTEM = ("system", "sys", "system_id", "system_name", "mt_system")
PAIR = ("pair", "language_pair", "lp", "langs")
JUDGE = ("judge", "judge_id", "rater", "annotator", "annotator_id")
_MISSING = ("", "none", "nan", "na", "null")


def read_metric_tables(
    arguments: Sequence[str], columns: Sequence[str] | None = None, pair: str | None = None
) -> tuple[list[ScoreTable], list[Path]]:
    """Metrics from tables: FILE, or SYSTEM=FILE for the scores of one system; and the files.

    columns  those to read; default: all that hold numbers
    pair     the language pair to read of tables that have a column `pair`

    A metric in several files has its parts from all of them.
    Raises InputError for a table without scores, a column that no table has, and a score given twice.
    """
    metrics: dict[str, ScoreTable] = {}
    files = [named_file(argument) for argument in arguments]
    for system, path in files:
        for table in read_table_of_scores(path, system, columns, pair):
            existing = metrics.setdefault(table.name, ScoreTable(table.name))
            _joined(existing, table, path)
    for name in columns or ():
        if name not in metrics:
            names = {
                t.name: None for system, path in files for t in read_table_of_scores(path, system, None, pair)
            }
            raise unknown_name("column", name, names, location="--columns")
    if not metrics:
        raise InputError("the tables hold no column of numbers", location=files[0][1] if files else None)
    return list(metrics.values()), [path for _, path in files]


def read_human_table(path: Path, column: str | None = None, pair: str | None = None) -> ScoreTable:
    """Human scores; several judges (rows with a column `judge`) are averaged.

    column  the column of scores; default `score`, or the only one that holds numbers
    """
    chosen = [column] if column else None
    tables = {table.name: table for table in read_table_of_scores(path, "", chosen, pair)}
    if column is None and len(tables) > 1 and "score" not in tables:
        raise InputError(
            "which column holds the human scores?",
            location=path,
            remedy=f"name it with --human-column: {', '.join(tables)}",
        )
    if not tables or (column is not None and column not in tables):
        raise InputError(f"no column '{column or 'score'}' of scores", location=path)
    return tables[column or ("score" if "score" in tables else next(iter(tables)))]


def read_table_of_scores(
    path: Path, system: str, columns: Sequence[str] | None, pair: str | None = None
) -> list[ScoreTable]:
    """One ScoreTable per column of numbers.

    system  the one system of a table without a column `system`; may be empty
    pair    the language pair whose rows are read if the table has a column of pairs

    A table without a column of segments holds scores of whole systems. A file that is no table by its name
    has one score per line, of the segments 1 to n. Empty cells, None and NaN are missing scores. What
    comet-score prints or writes as JSON names the systems itself, as exports of Appraise do (CSV).
    """
    ending = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    if ending == "csv" and is_appraise(path):
        return [table for table in read_appraise(path, pair) if columns is None or table.name in columns]
    if ending not in KINDS:
        return [_of_comet(path, system) if is_comet(path) else _of_lines(path, system)]
    reading = Reading(path.parent)
    cells = {name: reading.stripped(column) for name, column in read_table(reading, path).items()}
    cells = _of_pair(cells, pair, path)
    segment, named, judge = (_first(names, cells) for names in (SEGMENT, SYSTEM, JUDGE))
    keys = {named, judge, segment, _first(PAIR, cells)}
    if segment is None and named is None:
        raise InputError("has neither a column 'system' nor 'segment'", location=f"{path}:1")
    if named is not None and system:
        raise InputError(f"has a column '{named}', and is given as that of '{system}'", location=path)
    rows = len(next(iter(cells.values())))
    systems = cells[named].texts if named is not None else [system or ONE_SYSTEM] * rows
    segments = cells[segment].texts if segment is not None else None
    judges = cells[judge].texts if judge is not None else None
    _check_keys(cells, systems, segments, judges)
    wanted = [name for name in cells if name not in keys and (columns is None or name in columns)]
    tables = []
    for name in wanted:
        if columns is None and not _numeric(cells[name]):
            continue
        tables.append(_table(name, cells[name], systems, segments))
    return tables


def _of_pair(cells: Mapping[str, Column], pair: str | None, path: Path) -> dict[str, Column]:
    name = _first(PAIR, cells)
    if name is None:
        return dict(cells)
    existing = list(dict.fromkeys(cells[name].texts))
    if pair is None and len(existing) > 1:
        raise InputError(
            "which language pair?", location=path, remedy=f"choose with --pair: {', '.join(existing)}"
        )
    if pair is not None and pair not in existing:
        raise unknown_name("language pair", pair, existing, location=path)
    rows = [row for row, text in enumerate(cells[name].texts) if text == (pair or existing[0])]
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


def _of_lines(path: Path, system: str) -> ScoreTable:
    file = read_scores(path)
    scores = {(system or ONE_SYSTEM, str(i)): float(v) for i, v in enumerate(file.scores, start=1)}
    return ScoreTable(file.name, scores)


def _table(name: str, column: Column, systems: Sequence[str], segments: Sequence[str] | None) -> ScoreTable:
    values = [_score(column, row) for row in range(len(column))]
    if segments is None:
        return ScoreTable(name, systems=dict(zip(systems, values, strict=True)))
    parts: dict[tuple[str, str], list[float]] = {}
    for system, segment, value in zip(systems, segments, values, strict=True):
        parts.setdefault((system, segment), []).append(value)
    return ScoreTable(name, averages(parts))


def _check_keys(
    cells: Mapping[str, Column],
    systems: Sequence[str],
    segments: Sequence[str] | None,
    judges: Sequence[str] | None,
) -> None:
    first = next(iter(cells.values()))
    rows = zip(systems, segments or [""] * len(systems), judges or [""] * len(systems), strict=True)
    seen: dict[tuple[str, str, str], int] = {}
    for row, key in enumerate(rows):
        if not key[0].strip() or (segments is not None and not key[1].strip()):
            raise InputError("a score without a system or a segment", location=first.location(row))
        if key in seen:
            what = " ".join(part for part in key if part)
            raise InputError(
                f"'{what}' has two rows (the first is {first.location(seen[key])})",
                location=first.location(row),
                remedy="give one score per system and segment; several judges need a column 'judge'",
            )
        seen[key] = row


def _numeric(column: Column) -> bool:
    existing = [text for text in column.texts if text.strip().lower() not in _MISSING]
    return bool(existing) and all(map(is_real, existing))


def _score(column: Column, row: int) -> float:
    text = column.texts[row]
    if row in column.absent or text.strip().lower() in _MISSING:
        return float("nan")
    problem = number_problem(text, None, None)
    if problem is not None:
        raise InputError(f"the score {problem[0]}", location=column.location(row), remedy=problem[1])
    return number_in(text)


def _joined(existing: ScoreTable, addition: ScoreTable, path: Path) -> None:
    twice = [" ".join(key) for key in addition.segments if key in existing.segments]
    twice += [name for name in addition.systems if name in existing.systems]
    if twice:
        raise InputError(
            f"'{existing.name}' of '{twice[0]}' has been read from another file already", location=path
        )
    existing.segments |= addition.segments
    existing.systems |= addition.systems
