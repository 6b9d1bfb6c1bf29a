"""Read an evaluation: human scores or rankings and metric scores, or a folder of mt-metrics-eval with both.

A folder holds one test set and all its language pairs: `human-scores/LP.NAME.LEVEL.score` and
`metric-scores/LP/METRIC-REFERENCE.LEVEL.score`, lines of system and score, segments in the order of
`sources/LP.txt`; LEVEL is seg or sys here (domain and doc are not read); None is a missing score.
`references/LP.NAME.txt` names the references, which may be among the systems. Scores of systems are those of
sys.score files; means of segments count if no metric has such a file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from features.basics.assignments import named_file
from features.basics.errors import InputError, unknown_name
from features.basics.numerals import is_real
from features.basics.options import configured
from features.basics.progress import Progress, silent
from features.storage.files import read_lines
from qe.data.appraise import is_appraise, judgements, standardised
from qe.data.headers import HEADERS, key_of
from qe.data.reading import Column, Reading, number_in, number_problem
from qe.data.score_files import is_comet, read_comet, read_scores
from qe.data.table_files import read_table
from qe.data.table_rows import KINDS
from qe_human.judgements.collection import Collection
from qe_human.judgements.reading import chosen_pairs, format_of
from qe_human.metric_evaluation.scores import (
    ONE_SYSTEM,
    Evaluation,
    ScoreTable,
    averages,
    directed_metrics,
    human_of,
    human_of_rankings,
    is_error,
    made_metrics,
)
from qe_human.ranking_method import RANKINGS, RankingMethod, ScoreMethod


def read_appraise(path: Path, pair: str | None = None) -> list[ScoreTable]:
    """Scores of translations, raw (`score`) and standardised by annotator (`z`). Both are means over
    annotators. Raises InputError as `judgements` does.
    """
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
        chosen = name in columns if columns is not None else _is_metric(name, column)
        if chosen and name not in keys:
            tables.append(_table(name, column, systems, segments))
    return tables


def _is_metric(name: str, column: Column) -> bool:
    existing = [text for text in column.texts if text.strip().lower() not in _MISSING]
    return key_of(name) not in _IDENTIFIERS and bool(existing) and all(map(is_real, existing))


def _of_pair(cells: Mapping[str, Column], pair: str | None, path: Path) -> dict[str, Column]:
    name = _first(PAIR, cells)
    if name is None:
        return dict(cells)
    existing = list(dict.fromkeys(cells[name].texts))
    pair = _choice(pair, existing, "language pair", "--pair", path)
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


_LEVELS = ("seg", "sys")


def read_metrics_eval(
    folder: Path,
    pair: str | None,
    gold: str | None,
    metric_names: Sequence[str] | None,
    references: bool = False,
) -> tuple[str, ScoreTable, list[ScoreTable], list[str]]:
    """The language pair, people's scores, metrics' scores, and notes.

    pair        language pair such as en-de; may be left out if there is one
    gold        which human scores; may be left out if there is one kind
    only        metrics to read, by their name with or without references; default: all
    references  whether references that were scored like systems stay among them

    Raises InputError for a folder of another kind, unknown names, and files whose lines do not fit.
    """
    scores = _human_files(folder)
    pair = _choice(pair, sorted({lp for lp, _ in scores}), "language pair", "--pair", folder)
    kinds = sorted({name for lp, name in scores if lp == pair})
    gold = _choice(gold, kinds, "human score", "--gold", folder)
    lines = _segments(folder, pair)
    human = _read(gold, [scores[pair, gold]], lines)
    files = _metric_files(folder, pair)
    names = _wanted(files, metric_names)
    metrics = [_read(name, [files[name]], lines) for name in names]
    notes = [f"people's scores: {gold}", *_official_scores(human, metrics)]
    named = {path.name.split(".")[1] for path in (folder / "references").glob(f"{pair}.*.txt")}
    scored = {system for system, _ in human.segments} | set(human.systems)
    if not references and named & scored:
        notes.append(f"references are no systems here: {', '.join(sorted(named & scored))}")
        human.segments = {key: v for key, v in human.segments.items() if key[0] not in named}
        human.systems = {key: v for key, v in human.systems.items() if key not in named}
    return pair, human, metrics, notes


def _human_files(folder: Path) -> dict[tuple[str, str], dict[str, Path]]:
    files: dict[tuple[str, str], dict[str, Path]] = {}
    for path in sorted((folder / "human-scores").glob("[!.]*.score")):
        pair, *name, level, _ = path.name.split(".")
        if name and level in _LEVELS:
            files.setdefault((pair, ".".join(name)), {})[level] = path
    if not files:
        raise InputError(
            "holds no human-scores/LP.NAME.seg.score or .sys.score",
            location=folder,
            remedy="give the folder of one test set of mt-metrics-eval, such as .../wmt22",
        )
    return files


def _metric_files(folder: Path, pair: str) -> dict[str, dict[str, Path]]:
    files: dict[str, dict[str, Path]] = {}
    for path in sorted((folder / "metric-scores" / pair).glob("[!.]*.score")):
        name, level = path.name.removesuffix(".score").rpartition(".")[::2]
        if level in _LEVELS:
            files.setdefault(name, {})[level] = path
    if not files:
        raise InputError("holds no scores of metrics", location=folder / "metric-scores" / pair)
    return files


def _wanted(files: dict[str, dict[str, Path]], metric_names: Sequence[str] | None) -> list[str]:
    if metric_names is None:
        return list(files)
    names = []
    for asked in metric_names:
        matching = [name for name in files if asked in (name, name.rpartition("-")[0])]
        if not matching:
            raise unknown_name("metric", asked, files, location="--columns")
        names += [name for name in matching if name not in names]
    return names


def _segments(folder: Path, pair: str) -> int:
    path = folder / "sources" / f"{pair}.txt"
    if not path.is_file():
        raise InputError(
            "there is no such file of sources", location=path, remedy="it gives the number of segments"
        )
    return sum(1 for _ in read_lines(path))


def _read(name: str, files: Sequence[dict[str, Path]], lines: int) -> ScoreTable:
    table = ScoreTable(name)
    for levels in files:
        for level, path in levels.items():
            _add(table, level, path, lines)
    return table


def _official_scores(human: ScoreTable, metrics: Sequence[ScoreTable]) -> list[str]:
    if not any(table.systems for table in metrics):
        return []
    notes = ["scores of systems: sys.score files, not means of the judged segments"]
    human.official = bool(human.systems)
    if not human.systems:
        notes.append("people's scores of systems: means of the judged segments (no sys.score file)")
    for table in metrics:
        table.official = True
        if not table.systems:
            parts: dict[str, list[float]] = {}
            for (system, _), score in table.segments.items():
                parts.setdefault(system, []).append(score)
            table.systems = {system: float(np.nanmean(scores)) for system, scores in parts.items()}
            notes.append(
                f"'{table.name}' has no sys.score file: its scores of systems are means of all segments"
            )
    return notes


def _add(table: ScoreTable, level: str, path: Path, segments: int) -> None:
    counts: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        location = f"{path}:{number}"
        if len(cells) != 2 or not cells[0]:
            raise InputError(f"expected a system and a score, found {len(cells)} cells", location=location)
        system, text = cells
        score = _listed_score(text, location)
        counts[system] = counts.get(system, 0) + 1
        if level == "sys":
            table.systems[system] = score
        else:
            table.segments[system, str(counts[system])] = score
    expected = 1 if level == "sys" else segments
    for system, count in counts.items():
        if count != expected:
            raise InputError(f"'{system}' has {count} scores, not {expected}", location=path)


def _listed_score(text: str, location: str) -> float:
    if text in ("", "None"):
        return float("nan")
    problem = number_problem(text, None, None)
    if problem is not None:
        raise InputError(f"the score {problem[0]}", location=location)
    return number_in(text)


def _choice(name: str | None, names: Sequence[str], noun: str, option: str, folder: Path) -> str:
    if name is not None:
        if name not in names:
            raise unknown_name(noun, name, names, location=option)
        return name
    if len(names) > 1:
        raise InputError(
            f"which {noun}?", location=folder, remedy=f"choose one with {option}: {', '.join(names)}"
        )
    return names[0]


def from_tables(
    human: Path,
    human_column: str | None,
    metrics: Sequence[str],
    columns: Sequence[str] | None,
    lower_is_better: Sequence[str],
    pair: str | None = None,
) -> Evaluation:
    """Human scores and metrics from tables, of one language pair; see `score_tables`."""
    judged = read_human_table(human, human_column, pair)
    tables, _ = read_metric_tables(metrics, columns, pair)
    if is_error(judged):
        judged = judged.turned()
    people = human_of(judged, tables)
    made, notes = directed_metrics(tables, people, lower_is_better, columns)
    return Evaluation(pair or human.name.partition(".")[0], people, made, (*judged.notes, *notes))


def from_rankings(
    rankings: Sequence[Path],
    pair: str | None,
    metrics: Sequence[str],
    columns: Sequence[str] | None,
    lower_is_better: Sequence[str],
    method: str,
    reference: str,
    seed: int = 0,
    progress: Progress = silent,
) -> Evaluation:
    """Human rankings of one language pair, and metrics from tables.

    method  ranking method that scores systems

    Raises InputError if there are several language pairs and none is chosen.
    """
    collection = Collection()
    for done, path in enumerate(rankings):
        progress("reading", done, len(rankings))
        format_of(path).read(path, collection)
    judged = collection.judged_pairs()
    if pair is None and judged:
        pair = _choice(None, list(judged), "language pair", "--pair", rankings[0])
    chosen = next(iter(chosen_pairs(judged, [] if pair is None else [pair]).values()))
    tables, _ = read_metric_tables(metrics, columns, chosen.name)
    made_method = _score_method(configured(RANKINGS, method, {"seed": seed}), method)
    people = human_of_rankings(chosen, collection.segments.texts, made_method, tables, reference)
    made, notes = directed_metrics(tables, people, lower_is_better, columns)
    notes = [f"people's scores of systems: {method} of their rankings", *notes]
    return Evaluation(chosen.name, people, made, tuple(notes))


def from_metrics_eval(
    folder: Path,
    pair: str | None,
    gold: str | None,
    metrics: Sequence[str] | None,
    lower_is_better: Sequence[str],
    references: bool = False,
) -> Evaluation:
    """One language pair of a test set of mt-metrics-eval; see `metrics_eval`."""
    name, human, tables, notes = read_metrics_eval(folder, pair, gold, metrics, references)
    people = human_of(human, tables)
    made, more = made_metrics(tables, people, lower_is_better)
    return Evaluation(f"{folder.resolve().name} {name}", people, made, (*notes, *more))


def _score_method(method: RankingMethod, name: str) -> ScoreMethod:
    if not isinstance(method, ScoreMethod):
        known = [other for other in RANKINGS.names if issubclass(RANKINGS.get(other), ScoreMethod)]
        raise unknown_name("ranking method with scores", name, known, location="--ranking-method")
    return method
