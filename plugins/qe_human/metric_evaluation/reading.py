"""Scores of metrics and people, read from tables, rankings and mt-metrics-eval."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.assignments import configured
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress, silent
from features.storage.files import read_lines
from qe.data.reading import number_in, number_problem
from qe.data.score_tables import ScoreTable, chosen_name, read_metric_tables, read_table_of_scores
from qe.display.summary import Printable
from qe.systems.segment_scores import table_direction
from qe_human.human import Human, Preferences, column_means
from qe_human.judgements.collection import JudgedPair
from qe_human.judgements.reading import chosen_pairs, collected
from qe_human.ranking_method import RANKINGS, ScoreMethod

_DIGITS = 1e-3  # of the standard deviation of system scores: what rounding in a file may be


@dataclass(frozen=True, eq=False)
class Metric:
    """Scores of one metric, higher is better.

    scores   (s, k) of segments, NaN if absent; None if only systems have scores
    systems  (k,) of systems; None if they are the means of the segment scores
    """

    name: str
    scores: FloatArray | None
    systems: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Evaluation(Printable):
    """One set of human judgements, and metrics that scored the same translations."""

    name: str
    human: Human
    metrics: tuple[Metric, ...]
    notes: tuple[str, ...] = ()

    @property
    def shared_systems(self) -> int:
        shared = (self.defined(self.with_segments) & self.human.judged()).any(axis=0)
        for metric in self.metrics:
            if metric.scores is None and metric.systems is not None:
                shared &= ~np.isnan(metric.systems)
        return int(shared.sum())

    @property
    def with_segments(self) -> tuple[Metric, ...]:
        return tuple(metric for metric in self.metrics if metric.scores is not None)

    def defined(self, metrics: Sequence[Metric]) -> BoolArray:
        """Segments and systems (s, k) that all of the metrics have scores of."""
        defined = np.ones((len(self.human.segments), len(self.human.systems)), np.bool_)
        for metric in metrics:
            if metric.scores is not None:
                defined &= ~np.isnan(metric.scores)
        return defined

    def whole_systems(self, metrics: Sequence[Metric]) -> FloatArray:
        """Scores of systems (m, k): given, or the means over translations with human judgements."""
        weights, judged = np.ones(len(self.human.segments)), self.human.judged()
        rows = []
        for metric in metrics:
            if metric.systems is not None:
                rows.append(metric.systems)
            elif metric.scores is not None:
                rows.append(column_means(np.where(judged, metric.scores, np.nan), weights))
        return np.array(rows, np.float64).reshape(len(metrics), len(self.human.systems))


def directed_metrics(
    tables: Sequence[ScoreTable],
    human: Human,
    lower_is_better: Sequence[str],
    columns: Sequence[str] | None = None,
) -> tuple[tuple[Metric, ...], list[str]]:
    """`made_metrics` with the directions of `qe compare`; metrics without one are left out unless named."""
    asked = {*lower_is_better, *(columns or ())}
    undirected = [t.name for t in tables if table_direction(t) is None and t.name not in asked]
    chosen = [table for table in tables if table.name not in undirected] or tables
    unnamed = [table for table in chosen if table.name not in lower_is_better]
    turned = [table.name for table in unnamed if table_direction(table) is False]
    metrics, notes = made_metrics(chosen, human, [*lower_is_better, *turned])
    if turned:
        notes.append(f"lower is better, known by name: {', '.join(turned)}")
    if len(chosen) < len(tables):
        out = ", ".join(undirected)
        notes.append(f"neither direction is better, left out (--columns reads it): {out}")
    return metrics, notes


def made_metrics(
    tables: Sequence[ScoreTable], human: Human, lower_is_better: Sequence[str]
) -> tuple[tuple[Metric, ...], list[str]]:
    """Metrics with the systems and segments of the human judgements, and notes about missing scores.

    Raises InputError for two metrics of a name, an unknown name of `lower_is_better`, or a metric that shares
    nothing with the judgements.
    """
    names = [table.name for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two metrics are named '{name}'", remedy="rename a column, or give NAME=FILE")
    for name in lower_is_better:
        if name not in names:
            raise unknown_name("metric", name, names, location="--lower-is-better")
    notes: list[str] = []
    metrics = []
    for table in (_counted_from_1(table, human) for table in tables):
        sign = -1.0 if table.name in lower_is_better else 1.0
        scores, system_means = table.matrix(human.systems, human.segments), table.system_means(human.systems)
        defined = [
            values for values in (scores, system_means) if values is not None and not np.isnan(values).all()
        ]
        if not defined:
            raise InputError(
                f"'{table.name}' scores no translation with a human score: humans scored "
                f"{_names(human.systems, _judged_segments(human))}; '{table.name}' scores "
                f"{_names(table.system_names(), list(dict.fromkeys(s for _, s in table.segments)))}",
                remedy="systems and segments are joined by their names: give them the same in both files",
            )
        notes += _missing(table, human, scores, system_means)
        system_means = _whole_systems(table, system_means, scores)
        sided = [None if values is None else sign * values for values in (scores, system_means)]
        metrics.append(Metric(table.name, *sided))
    return tuple(metrics), notes


def _counted_from_1(table: ScoreTable, human: Human) -> ScoreTable:
    names = {segment for _, segment in table.segments}
    if names != set(map(str, range(len(names)))) or set(_judged_segments(human)) != set(
        map(str, range(1, len(names) + 1))
    ):
        return table
    segments = {(system, str(int(name) + 1)): score for (system, name), score in table.segments.items()}
    return replace(table, segments=segments)


def _missing(
    table: ScoreTable, human: Human, scores: FloatArray | None, system_means: FloatArray | None
) -> list[str]:
    notes = []
    unscored: NDArray[np.bool_] = np.ones(len(human.systems), np.bool_)
    for values in (scores, system_means):
        if values is not None:
            unscored &= np.isnan(np.atleast_2d(values)).all(axis=0)
    lost = [name for name, missing in zip(human.systems, unscored, strict=True) if missing]
    if lost:
        notes.append(f"'{table.name}' scores nothing of {', '.join(lost)}: left out for all metrics")
    more = sorted(set(table.system_names()) - set(human.systems))
    if more:
        notes.append(f"'{table.name}' scores systems that nobody judged: {', '.join(more)}")
    judged, defined = human.judged(), set(_judged_segments(human))
    lacking = 0 if scores is None else int((judged & np.isnan(scores)).sum())
    others = [name for system, name in table.segments if system in human.systems and name not in defined]
    if lacking and others:
        plain = {name.lstrip("0") for name in defined}
        alike = next((name for name in others if name.lstrip("0") in plain), None)
        hint = f"; '{alike}' differs from a judged one only in zeros before it" if alike else ""
        notes.append(
            f"'{table.name}' has no score for {lacking:,} of {int(judged.sum()):,} judged translations, and "
            f"{len(others):,} scores of segments that nobody judged, such as '{others[0]}': segments are "
            f"joined by their exact names{hint}"
        )
    return notes


def human_of(table: ScoreTable, metrics: Sequence[ScoreTable]) -> Human:
    """Human scores as `Human`; segments that only metrics score have no human score."""
    systems = tuple(table.system_names())
    judged = dict.fromkeys(segment for _, segment in table.segments)
    scored = dict.fromkeys(segment for metric in metrics for _, segment in metric.segments)
    segments = tuple(judged | scored) or ("",)
    scores, system_means = table.matrix(systems, segments), table.system_means(systems)
    return Human(systems, segments, scores, None, _whole_systems(table, system_means, scores))


def _whole_systems(
    table: ScoreTable, means: FloatArray | None, scores: FloatArray | None
) -> FloatArray | None:
    """Scores of systems, unless they are the means of the segment scores."""
    if table.official or means is None or scores is None:
        return means
    averages, tolerance = column_means(scores, np.ones(len(scores))), _DIGITS * np.nanstd(means)
    return None if np.allclose(means, averages, rtol=0, atol=tolerance, equal_nan=True) else means


def _names(systems: Sequence[str], segments: Sequence[str]) -> str:
    named = f"systems {_listed(systems)}"
    return f"{named} and segments {_listed(segments)}" if segments else named


def _judged_segments(human: Human) -> list[str]:
    if human.scores is None and human.preferences is None:
        return []
    return [human.segments[row] for row in np.flatnonzero(human.judged().any(axis=1)).tolist()]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def human_of_rankings(
    judged: JudgedPair,
    segment_names: Sequence[str],
    method: ScoreMethod,
    metrics: Sequence[ScoreTable],
    reference: str = "_ref",
) -> Human:
    """The rankings of one language pair without the reference, and the segments that only metrics score.

    segment_names  names of the segments by the codes of the judgements

    Raises InputError if only counts were given: they do not identify segments.
    """
    tasks = judged.comparisons
    if tasks is None:
        raise InputError(f"{judged.name}: counts of judgements do not identify segments")
    kept = [i for i, name in enumerate(tasks.systems) if name != reference]
    place = np.full(len(tasks.systems), -1)
    place[kept] = np.arange(len(kept))
    systems = tuple(tasks.systems[i] for i in kept)
    ours = (place[tasks.first] >= 0) & (place[tasks.second] >= 0)
    codes = tasks.segment[tasks.task[ours]]
    known = dict.fromkeys(segment_names[code] for code in np.unique(codes))
    scored = dict.fromkeys(segment for metric in metrics for _, segment in metric.segments)
    segments = tuple(known | scored)
    row = {name: i for i, name in enumerate(segments)}
    of_code = {int(code): row[segment_names[code]] for code in np.unique(codes)}
    preferences = Preferences(
        np.array([of_code[int(code)] for code in codes], np.int64),
        place[tasks.first[ours]].astype(np.int64),
        place[tasks.second[ours]].astype(np.int64),
        tasks.outcome[ours],
        method,
    )
    return Human(systems, segments or ("",), None, preferences)


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
    files = _score_files(folder / "human-scores")
    scores = {(lp, name): files[f"{lp}.{name}"] for lp, _, name in (n.partition(".") for n in files) if name}
    if not scores:
        raise InputError(
            "holds no human-scores/LP.NAME.seg.score or .sys.score",
            location=folder,
            remedy="give the folder of one test set of mt-metrics-eval, such as .../wmt22",
        )
    pair = chosen_name(pair, sorted({lp for lp, _ in scores}), "language pair", "--pair", folder)
    kinds = sorted({name for lp, name in scores if lp == pair})
    gold = chosen_name(gold, kinds, "human score", "--gold", folder)
    sources = folder / "sources" / f"{pair}.txt"
    if not sources.is_file():
        raise InputError(
            "there is no such file of sources", location=sources, remedy="it gives the number of segments"
        )
    lines = sum(1 for _ in read_lines(sources))
    human = _read(gold, scores[pair, gold], lines)
    files = _score_files(folder / "metric-scores" / pair)
    if not files:
        raise InputError("holds no scores of metrics", location=folder / "metric-scores" / pair)
    names = _wanted(files, metric_names)
    metrics = [_read(name, files[name], lines) for name in names]
    notes = [f"people's scores: {gold}", *_official_scores(human, metrics)]
    named = {path.name.split(".")[1] for path in (folder / "references").glob(f"{pair}.*.txt")}
    scored = {system for system, _ in human.segments} | set(human.systems)
    if not references and named & scored:
        notes.append(f"references are no systems here: {', '.join(sorted(named & scored))}")
        human.segments = {key: v for key, v in human.segments.items() if key[0] not in named}
        human.systems = {key: v for key, v in human.systems.items() if key not in named}
    return pair, human, metrics, notes


def _score_files(folder: Path) -> dict[str, dict[str, Path]]:
    """Names of `NAME.seg.score` and `NAME.sys.score`, and the file of each level."""
    files: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob("[!.]*.score")):
        name, level = path.name.removesuffix(".score").rpartition(".")[::2]
        if level in _LEVELS:
            files.setdefault(name, {})[level] = path
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


def _read(name: str, files: dict[str, Path], lines: int) -> ScoreTable:
    table = ScoreTable(name)
    for level, path in files.items():
        counts: dict[str, int] = {}
        for number, line in enumerate(read_lines(path), start=1):
            cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
            location = f"{path}:{number}"
            if len(cells) != 2 or not cells[0]:
                problem = f"expected a system and a score, found {len(cells)} cells"
                raise InputError(problem, location=location)
            system, score = cells[0], _listed_score(cells[1], location)
            counts[system] = counts.get(system, 0) + 1
            if level == "sys":
                table.systems[system] = score
            else:
                table.segments[system, str(counts[system])] = score
        expected = 1 if level == "sys" else lines
        for system, count in counts.items():
            if count != expected:
                raise InputError(f"'{system}' has {count} scores, not {expected}", location=path)
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
    collection = collected(rankings, progress)
    judged = collection.judged_pairs()
    if pair is None and judged:
        pair = chosen_name(None, list(judged), "language pair", "--pair", rankings[0])
    chosen = next(iter(chosen_pairs(judged, [] if pair is None else [pair]).values()))
    tables, _ = read_metric_tables(metrics, columns, chosen.name)
    scoring = configured(RANKINGS, method, {"seed": seed})
    if not isinstance(scoring, ScoreMethod):
        known = [other for other in RANKINGS.names if issubclass(RANKINGS.get(other), ScoreMethod)]
        raise unknown_name("ranking method with scores", method, known, location="--ranking-method")
    people = human_of_rankings(chosen, collection.segments.texts, scoring, tables, reference)
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
