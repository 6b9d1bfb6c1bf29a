"""Read an evaluation: human scores or rankings and metric scores, or a folder of mt-metrics-eval with both.

A folder holds one test set and all its language pairs: `human-scores/LP.NAME.LEVEL.score` and
`metric-scores/LP/METRIC-REFERENCE.LEVEL.score`, lines of system and score, segments in the order of
`sources/LP.txt`; LEVEL is seg or sys here (domain and doc are not read); None is a missing score.
`references/LP.NAME.txt` names the references, which may be among the systems. Scores of systems are those of
sys.score files; means of segments count if no metric has such a file.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from features.basics.assignments import configured
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.storage.files import read_lines
from qe.data.reading import number_in, number_problem
from qe.data.score_tables import ScoreTable, chosen_name, read_metric_tables, read_table_of_scores
from qe.systems.segment_scores import table_direction
from qe_human.judgements.collection import Collection
from qe_human.judgements.reading import chosen_pairs, format_of
from qe_human.metric_evaluation.scores import (
    Evaluation,
    directed_metrics,
    human_of,
    human_of_rankings,
    made_metrics,
)
from qe_human.ranking_method import RANKINGS, RankingMethod, ScoreMethod


def read_human_table(path: Path, column: str | None = None, pair: str | None = None) -> ScoreTable:
    """Human scores from `column` (default: score, or the only numbers), averaged over judges."""
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


_LEVELS = ("seg", "sys")


def read_metrics_eval(
    folder: Path,
    pair: str | None,
    gold: str | None,
    metric_names: Sequence[str] | None,
    references: bool = False,
) -> tuple[str, ScoreTable, list[ScoreTable], list[str]]:
    """The language pair, human scores, scores of metrics, and notes; raises InputError for other folders."""
    scores = _human_files(folder)
    pair = chosen_name(pair, sorted({lp for lp, _ in scores}), "language pair", "--pair", folder)
    kinds = sorted({name for lp, name in scores if lp == pair})
    gold = chosen_name(gold, kinds, "human score", "--gold", folder)
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


def from_tables(
    human: Path,
    human_column: str | None,
    metrics: Sequence[str],
    columns: Sequence[str] | None,
    lower_is_better: Sequence[str],
    pair: str | None = None,
) -> Evaluation:
    judged = read_human_table(human, human_column, pair)
    tables, _ = read_metric_tables(metrics, columns, pair)
    if table_direction(judged) is False:
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
    """Human rankings of one pair, scored by `method`, and metrics; raises InputError for several pairs."""
    collection = Collection()
    for done, path in enumerate(rankings):
        progress("reading", done, len(rankings))
        format_of(path).read(path, collection)
    judged = collection.judged_pairs()
    if pair is None and judged:
        pair = chosen_name(None, list(judged), "language pair", "--pair", rankings[0])
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
    name, human, tables, notes = read_metrics_eval(folder, pair, gold, metrics, references)
    people = human_of(human, tables)
    made, more = made_metrics(tables, people, lower_is_better)
    return Evaluation(f"{folder.resolve().name} {name}", people, made, (*notes, *more))


def _score_method(method: RankingMethod, name: str) -> ScoreMethod:
    if not isinstance(method, ScoreMethod):
        known = [other for other in RANKINGS.names if issubclass(RANKINGS.get(other), ScoreMethod)]
        raise unknown_name("ranking method with scores", name, known, location="--ranking-method")
    return method
