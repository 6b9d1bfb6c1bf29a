"""Scores of metrics and judgements of people, put side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError, unknown_name
from qe.data.headers import is_rate, key_of
from qe.display.summary import summarised
from qe.systems.text_metric import MT_METRICS
from qe_human.human import Human, Preferences, column_means
from qe_human.judgements.collection import JudgedPair
from qe_human.ranking_method import ScoreMethod

_DIGITS = 1e-3  # of the standard deviation of system scores: what rounding in a file may be
ONE_SYSTEM = "system"  # the name of the only system, where none has a name


@summarised
@dataclass(eq=False)
class ScoreTable:
    """What one scorer (a metric, or people) says, before systems and segments are known to all.

    Parameters
    ----------
    segments : dict of pair of str and str to float, default={}
        (system, segment) -> score.
    systems : dict of str to float, default={}
        System -> score of the system as a whole.
    notes : tuple of str, default=()
        What the file holds that is no score here.
    official : bool, default=False
        Whether `systems` are the scores of systems in any case; otherwise they are dropped where they are the
        means of the segment scores, which are then averaged over the judged translations.
    """

    name: str
    segments: dict[tuple[str, str], float] = field(default_factory=dict)
    systems: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    official: bool = False

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

    def whole_systems(self, system_means: FloatArray | None, scores: FloatArray | None) -> FloatArray | None:
        """(k,) scores of systems that are not to be computed from the segment scores; None if all are."""
        return None if not self.official and _are_means(system_means, scores) else system_means


@dataclass(frozen=True, eq=False)
class Metric:
    """Scores of one metric, higher is better.

    scores   (s, k) of segments, NaN if there is none; None if only systems have scores
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
        """The number of systems that people judged and all metrics scored."""
        shared = (self.defined(self.with_segments) & self.human.judged()).any(axis=0)
        for metric in self.metrics:
            if metric.scores is None and metric.systems is not None:
                shared &= ~np.isnan(metric.systems)
        return int(shared.sum())

    @property
    def with_segments(self) -> tuple[Metric, ...]:
        """The metrics that score segments."""
        return tuple(metric for metric in self.metrics if metric.scores is not None)

    def defined(self, metrics: Sequence[Metric]) -> BoolArray:
        """(s, k) where all of the metrics have segment scores."""
        defined = np.ones((len(self.human.segments), len(self.human.systems)), np.bool_)
        for metric in metrics:
            if metric.scores is not None:
                defined &= ~np.isnan(metric.scores)
        return defined

    def whole_systems(self, metrics: Sequence[Metric]) -> FloatArray:
        """(m, k) scores of systems. They are given, or the means of the scores of translations that people
        judged.
        """
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


def is_error(table: ScoreTable) -> bool:
    """Whether scores are of a known metric that counts errors, such as TER; not if some are negative."""
    scores = (*table.segments.values(), *table.systems.values())
    return _direction(table.name) is False and not any(score < 0 for score in scores)


def _direction(name: str) -> bool | None:
    key = key_of(name.partition(":")[0])
    if is_rate(key):
        return False
    return MT_METRICS.get(key).higher_is_better if key in MT_METRICS else True


def directed_metrics(
    tables: Sequence[ScoreTable],
    human: Human,
    lower_is_better: Sequence[str],
    columns: Sequence[str] | None = None,
) -> tuple[tuple[Metric, ...], list[str]]:
    """`made_metrics` with the directions of the metrics of `qe compare`.

    A metric without a direction, such as length, is left out unless `columns` names it.
    """
    asked = {*lower_is_better, *(columns or ())}
    undirected = [t.name for t in tables if _direction(t.name) is None and t.name not in asked]
    chosen = [table for table in tables if table.name not in undirected] or tables
    turned = [table.name for table in chosen if table.name not in lower_is_better and is_error(table)]
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
    """Metrics with the systems and segments of the human judgements. Also returns notes about what the
    metrics lack. Raises InputError for two metrics of a name, an unknown name of `lower_is_better`, and a
    metric that shares nothing with the judgements.
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
    for table in tables:
        sign = -1.0 if table.name in lower_is_better else 1.0
        scores, system_means = table.matrix(human.systems, human.segments), table.system_means(human.systems)
        defined = [
            values for values in (scores, system_means) if values is not None and not np.isnan(values).all()
        ]
        if not defined:
            raise InputError(
                f"'{table.name}' scores no translation with a human score: people judged "
                f"{_names(human.systems, _judged_segments(human))}; '{table.name}' scores "
                f"{_names(table.system_names(), list(dict.fromkeys(s for _, s in table.segments)))}",
                remedy="systems and segments are joined by their names: give them the same in both files",
            )
        notes += _missing(table, human, scores, system_means)
        system_means = table.whole_systems(system_means, scores)
        sided = [None if values is None else sign * values for values in (scores, system_means)]
        metrics.append(Metric(table.name, *sided))
    return tuple(metrics), notes


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
    return Human(systems, segments, scores, None, table.whole_systems(system_means, scores))


def _are_means(system_means: FloatArray | None, scores: FloatArray | None) -> bool:
    if system_means is None or scores is None:
        return False
    means = column_means(scores, np.ones(len(scores)))
    return bool(
        np.allclose(system_means, means, rtol=0, atol=_DIGITS * np.nanstd(system_means), equal_nan=True)
    )


def averages(parts: Mapping[tuple[str, str], Sequence[float]]) -> dict[tuple[str, str], float]:
    """The mean of several judges' scores of a translation, those that are missing left out."""
    defined = {key: [value for value in values if value == value] for key, values in parts.items()}
    return {key: sum(values) / len(values) if values else float("nan") for key, values in defined.items()}


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
    """The rankings of one language pair without the reference. Also returns the segments that only metrics
    score.

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
