"""Segment scores of other metrics: METRIC:SYSTEM=RUN,... or tables of systems and segments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.assignments import assigned
from features.basics.errors import InputError
from qe.data.delimited import lines_of
from qe.data.score_files import is_comet, read_scores
from qe.data.score_tables import ScoreTable, read_metric_tables
from qe.display.numbers import exact
from qe.systems.mt_metrics.table import BY_DIRECTION, NO_SCORE, SegmentScores
from qe.systems.text_metric import known_direction
from qe.systems.texts import Texts

_FORM = "METRIC:SYSTEM=RUN[,RUN...]"
Runs = Mapping[str, Sequence[Texts]]
"""System -> its outputs, one per run."""


@dataclass(eq=False)
class ScoredRuns:
    """What --scores gives; `outputs` has names of segments instead of texts, if there are no outputs."""

    metrics: dict[str, SegmentScores] = field(default_factory=dict)
    files: dict[str, dict[str, tuple[Texts, ...]]] = field(default_factory=dict)
    outputs: dict[str, tuple[Texts, ...]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def named_files(text: str, option: str, form: str = "NAME=VALUE[,VALUE...]") -> tuple[str, list[str]]:
    name, values = assigned(text, form, option)
    if not all(values.split(",")):
        raise InputError(f"expected {form}, but got '{text}'", location=option)
    return name, values.split(",")


def read_segment_scores(
    scores: Sequence[str], systems: Runs, lower_is_better: Sequence[str], texts: Sequence[Texts]
) -> ScoredRuns:
    """Scores of the systems' segments by the texts' lines; without systems, those of the tables."""
    result = ScoredRuns()
    chosen = [text for text in scores if "=" not in text or Path(text).is_file()]
    tables = read_metric_tables(chosen)[0] if chosen else []
    names = _segments(tables, len(texts[0]) if texts else None)
    if not systems:
        systems = {name: [] for table in tables for name in table.system_names()}
    result.files = {name: {} for name in systems}
    for text in (text for text in scores if text not in chosen):
        name, runs = named_files(text, "--scores", _FORM)
        metric, _, system = name.partition(":")
        if not metric or not system:
            remedy = "or the name of a table"
            raise InputError(f"expected {_FORM}, but got '{text}'", location="--scores", remedy=remedy)
        if system not in systems:
            raise InputError(f"--scores names no system: {system}")
        if metric in result.files[system]:
            raise InputError(f"--scores names {metric}:{system} twice", remedy="give all runs at once")
        result.files[system][metric] = tuple(map(_lines, map(Path, runs)))
        result.metrics[metric] = BY_DIRECTION[metric not in lower_is_better]()
    for table in tables:
        direction = False if table.name in lower_is_better else table_direction(table)
        result.metrics[table.name] = BY_DIRECTION[direction]()
        _add(result, table, systems, names)
    if unknown := sorted(set(lower_is_better) - set(result.metrics)):
        raise InputError(f"--lower-is-better names no metric of --scores: {', '.join(unknown)}")
    if not any(systems.values()):
        runs_of = {name: len(next(iter(files.values()))) for name, files in result.files.items()}
        result.outputs = {name: (Texts.from_lines(names, name),) * runs for name, runs in runs_of.items()}
    return result


def table_direction(table: ScoreTable) -> bool | None:
    """`known_direction` of the scores; errors of which some are negative have been turned."""
    direction = known_direction(table.name)
    turned = any(score < 0 for score in (*table.segments.values(), *table.systems.values()))
    return True if direction is False and turned else direction


def _lines(path: Path) -> Texts:
    lines = map(exact, read_scores(path).scores) if is_comet(path) else lines_of(path)
    return Texts.from_lines(list(lines), str(path))


def _segments(tables: Sequence[ScoreTable], lines: int | None) -> list[str]:
    names = list(dict.fromkeys(segment for table in tables for _, segment in table.segments))
    if lines is None or not tables:
        return names
    if all(name.isdecimal() for name in names):
        numbers = sorted(map(int, names))
        first = 0 if numbers[0] == 0 else 1
        if numbers[-1] - first < lines:
            return [str(number) for number in range(first, lines + first)]
    if len(names) == lines and not all(name.isdecimal() for name in names):
        return names
    raise InputError(
        f"--scores has {len(names)} segments ({names[0]} to {names[-1]}), but the outputs have {lines} lines",
        remedy="number the segments as the lines, from 1",
    )


def _add(result: ScoredRuns, table: ScoreTable, systems: Runs, names: Sequence[str]) -> None:
    columns = {system: _columns(table, system, runs, names) for system, runs in systems.items()}
    lacking = {system: np.isnan(column).any(axis=0) for system, column in columns.items()}
    missing = np.logical_or.reduce([*lacking.values()])
    if missing.all():
        raise InputError(f"no segment has scores of '{table.name}' for all systems")
    if missing.any():
        counts = ", ".join(f"{system}: {gone.sum()}" for system, gone in lacking.items() if gone.any())
        result.notes.append(
            f"{table.name}: {missing.sum()} of {len(names)} segments lack a score ({counts}) and are left out"
        )
    for system, column in columns.items():
        shown = [
            [NO_SCORE if gone else exact(x) for x, gone in zip(run, missing, strict=True)] for run in column
        ]
        if table.name in result.files[system]:
            raise InputError(f"--scores names {table.name}:{system} twice")
        texts = (Texts.from_lines(lines, f"{table.name} of {system}") for lines in shown)
        result.files[system][table.name] = tuple(texts)


def _columns(table: ScoreTable, system: str, outputs: Sequence[Texts], names: Sequence[str]) -> FloatArray:
    known = table.system_names()
    own = [system] if system in known else [Path(run.name).name for run in outputs]
    if not own or not set(own) <= set(known):
        raise InputError(
            f"'{table.name}' scores the systems {', '.join(known)}, and not '{system}'",
            remedy="systems are joined by their names, or by the names of their files",
        )
    keys = [[(name, segment) for segment in names] for name in own]
    scores = [[table.runs.get(key, (table.segments.get(key, np.nan),)) for key in row] for row in keys]
    count = max(len(runs) for row in scores for runs in row)
    padded = [[runs if len(runs) == count else (np.nan,) * count for runs in row] for row in scores]
    return np.array(padded, np.float64).transpose(0, 2, 1).reshape(-1, len(names))
