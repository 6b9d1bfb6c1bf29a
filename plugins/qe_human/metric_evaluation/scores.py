"""Scores of metrics and judgements of people, put side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError, unknown_name
from qe.data.score_tables import ScoreTable
from qe.display.summary import summarised
from qe.systems.segment_scores import table_direction
from qe_human.human import Human, Preferences, column_means
from qe_human.judgements.collection import JudgedPair
from qe_human.ranking_method import ScoreMethod

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


@summarised
@dataclass(frozen=True, eq=False)
class Evaluation:
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
        rows = [
            metric.systems
            if metric.systems is not None
            else column_means(np.where(judged, _segments_of(metric), np.nan), weights)
            for metric in metrics
        ]
        return np.array(rows, np.float64).reshape(len(metrics), len(self.human.systems))


def _segments_of(metric: Metric) -> FloatArray:
    if metric.scores is None:
        raise ValueError(f"{metric.name} has no scores at all")
    return metric.scores


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
    return [*notes, *_other_names(table, human, scores)]


def _other_names(table: ScoreTable, human: Human, scores: FloatArray | None) -> list[str]:
    judged = human.judged()
    lacking = 0 if scores is None else int((judged & np.isnan(scores)).sum())
    defined = set(_judged_segments(human))
    others = [name for system, name in table.segments if system in human.systems and name not in defined]
    if not (lacking and others):
        return []
    plain = {name.lstrip("0") for name in defined}
    alike = next((name for name in others if name.lstrip("0") in plain), None)
    hint = f"; '{alike}' differs from a judged one only in zeros before it" if alike else ""
    return [
        f"'{table.name}' has no score for {lacking:,} of {int(judged.sum()):,} judged translations, and "
        f"{len(others):,} scores of segments that nobody judged, such as '{others[0]}': segments are "
        f"joined by their exact names{hint}"
    ]


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
    return None if not table.official and _are_means(means, scores) else means


def _are_means(system_means: FloatArray | None, scores: FloatArray | None) -> bool:
    if system_means is None or scores is None:
        return False
    means = column_means(scores, np.ones(len(scores)))
    return bool(
        np.allclose(system_means, means, rtol=0, atol=_DIGITS * np.nanstd(system_means), equal_nan=True)
    )


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
