"""Suggestions: rows of a pool to label next, about which learners disagree, far from each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from qe.config.experiment import Experiment
from qe.data.writing import write_rows
from qe.display.summary import Printable
from qe.language.made_columns import with_made_columns
from qe.scoring.input import Pool
from qe.training.check import check
from qe.training.preparation import prepare

MEMBERS: Final = 16
_PENALTIES: Final = np.logspace(-4, 1, 11)  # times the number of rows
_FARTHEST: Final = 4.0  # standard deviations: outliers are not what annotators should see first
_COMPONENTS: Final = 30
_TEXTS: Final = dict.fromkeys(("id", "source", "target"), pa.string())
_TYPES: Final = {"rank": pa.int64(), "row": pa.int64(), **_TEXTS, "uncertainty": pa.float64()}


@dataclass(frozen=True, eq=False)
class Suggestions(Printable):
    """Rows of a pool to label next.

    Attributes
    ----------
    rows : array of int
        Rows of the pool, the most useful first.
    uncertainty : array of float
        (count,) disagreement of the committee about each, in label units.
    labelled, candidates : int
        Training segments, and rows of the pool without a label.
    """

    rows: NDArray[np.int64]
    uncertainty: FloatArray
    labelled: int
    candidates: int


def suggest(
    experiment: Experiment,
    pool: Mapping[str, Sequence[str]],
    count: int,
    *,
    cache: Path,
    seed: int = 0,
    progress: Progress = silent,
) -> Suggestions:
    """Chooses `count` rows of the pool (columns of Segments) by the features and labels of an experiment.

    Raises InputError if the pool has fewer rows without a label, or lacks a column.
    """
    prepared = prepare(check(experiment), cache, progress)
    training = prepared.training.segments
    needed = ("source", "target", *prepared.extraction.feature_set.requires())
    columns: dict[str, Any] = {name: pool[name] for name in dict.fromkeys(needed) if name in pool}
    columns["id"] = [f"pool-{number}" for number in range(1, len(columns["source"]) + 1)]
    segments = Segments.from_columns(columns, training.source_tokenizer, training.target_tokenizer)
    absent = {c: by for c, by in prepared.experiment.made_columns().items() if c not in columns}
    if absent:
        segments = with_made_columns(segments, absent, cache, progress)
    seen = set(zip(training.source, training.target, strict=True))
    rows = []
    for row, pair in enumerate(zip(segments.source, segments.target, strict=True)):
        if pair not in seen:
            seen.add(pair)
            rows.append(row)
    free = np.array(rows, np.int64)
    if len(free) < count:
        problem = f"{count} segments are requested, but only {len(free)} of the pool have no label yet"
        raise InputError(problem, remedy="request fewer, or give a larger pool")
    progress("choosing", 0, 1)
    own, other = prepared.extraction.fit_and_score(prepared.training, segments.take(free))
    numbers = prepared.extraction.feature_set.names
    chosen, uncertainty = choose(
        own[numbers].to_numpy(), prepared.scores, other[numbers].to_numpy(), count, seed
    )
    progress("choosing", 1, 1)
    return Suggestions(free[chosen], uncertainty[chosen], len(prepared.training), len(free))


def write_suggestions(path: Path, pool: Pool, suggestions: Suggestions) -> None:
    chosen = zip(suggestions.rows.tolist(), suggestions.uncertainty.tolist(), strict=True)
    rows = [
        {
            "rank": rank,
            "row": pool.rows[i],
            "id": pool.ids[i],
            "source": pool.columns["source"][i],
            "target": pool.columns["target"][i],
            "uncertainty": round(uncertainty, 6),
        }
        for rank, (i, uncertainty) in enumerate(chosen, start=1)
    ]
    write_rows(path, rows, _TYPES)


def choose(
    labelled: FloatArray, labels: FloatArray, pool: FloatArray, count: int, seed: int
) -> tuple[NDArray[np.int64], FloatArray]:
    """Rows of the (m, d) pool in the order drawn, and (m,) the disagreement about each row of the pool."""
    rows, pool_rows = standardised(labelled, pool)
    uncertain = disagreement(rows, labels, pool_rows, seed)
    labelled_points, points = components(rows, pool_rows)
    return spread(points, uncertain**2, labelled_points, count, seed), uncertain


def standardised(labelled: FloatArray, pool: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both tables, standardised by all rows (undefined values: the median) and clipped at four deviations."""
    table = np.vstack([labelled, pool])
    table = table[:, np.isfinite(table).any(axis=0)]
    table = np.where(np.isfinite(table), table, np.nanmedian(table, axis=0))
    deviation = table.std(axis=0)
    varies = deviation > 1e-12 * np.maximum(1.0, np.abs(table).max(axis=0, initial=0.0))
    scaled = (table[:, varies] - table[:, varies].mean(axis=0)) / deviation[varies]
    scaled = np.clip(scaled, -_FARTHEST, _FARTHEST)
    return scaled[: len(labelled)], scaled[len(labelled) :]


def components(labelled: FloatArray, pool: FloatArray) -> tuple[FloatArray, FloatArray]:
    table = np.vstack([labelled, pool])
    centred = table - table.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(table))
    kept = np.argsort(-values)[:_COMPONENTS]
    kept = kept[values[kept] > 1e-9 * max(1e-300, float(values.max(initial=0.0)))]
    points = centred @ vectors[:, kept] / np.sqrt(values[kept])
    return points[: len(labelled)], points[len(labelled) :]


def disagreement(
    labelled: FloatArray, labels: FloatArray, pool: FloatArray, seed: int, members: int = MEMBERS
) -> FloatArray:
    """(m,) standard deviation of the members' predictions for (m, d) rows of the pool.

    The members are ridge regressions on bootstrap samples of the (n, d) labelled rows (query by bagging, Abe
    and Mamitsuka 1998), with the penalty of generalised cross-validation (Golub, Heath and Wahba 1979).
    """
    penalty = len(labelled) * _penalty(labelled, labels)
    generator = np.random.default_rng(seed)
    predictions = np.empty((members, len(pool)))
    for member in range(members):
        rows = generator.integers(0, len(labelled), len(labelled))
        predictions[member] = _predicted(labelled[rows], labels[rows], pool, penalty)
    return np.asarray(predictions.std(axis=0), np.float64)


def _predicted(rows: FloatArray, labels: FloatArray, pool_rows: FloatArray, penalty: float) -> FloatArray:
    mean = rows.mean(axis=0)
    centred = rows - mean
    gram = centred.T @ centred + penalty * np.eye(rows.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (labels - labels.mean()))
    return np.asarray((pool_rows - mean) @ weights + labels.mean(), np.float64)


def _penalty(rows: FloatArray, labels: FloatArray) -> float:
    left, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    centred = labels - labels.mean()
    errors = []
    for penalty in _PENALTIES:
        shrunk = values**2 / (values**2 + penalty * len(rows))
        residual = centred - left @ (shrunk * (left.T @ centred))
        errors.append(float(residual @ residual) / max(1e-9, 1 - (1 + shrunk.sum()) / len(rows)) ** 2)
    return float(_PENALTIES[int(np.argmin(errors))])


def spread(
    points: FloatArray, weights: FloatArray, labelled_points: FloatArray, count: int, seed: int
) -> NDArray[np.int64]:
    """`count` of the (m, d) points, in the order drawn, none twice.

    Each is drawn with a probability proportional to its weight (m,) times its squared distance to the nearest
    labelled (n, d) or drawn point (k-means++, Arthur and Vassilvitskii 2007); equal points come last.
    """
    generator, left = np.random.default_rng(seed), np.asarray(weights, np.float64).copy()
    nearest = np.ones(len(points))
    if len(labelled_points):
        squares = (
            (points**2).sum(axis=1)[:, np.newaxis]
            + (labelled_points**2).sum(axis=1)
            - 2 * points @ labelled_points.T
        )
        nearest = np.asarray(np.maximum(squares, 0).min(axis=1), np.float64)
    chosen: list[int] = []
    while len(chosen) < count:
        mass = nearest * left
        total = float(mass.sum())
        if not total > 0:
            free = np.setdiff1d(np.arange(len(points)), chosen)
            return np.array([*chosen, *free[: count - len(chosen)]], np.int64)
        possible = np.flatnonzero(mass)
        place = np.searchsorted(np.cumsum(mass[possible]), generator.random() * total, side="right")
        drawn = int(possible[min(int(place), len(possible) - 1)])
        chosen.append(drawn)
        left[drawn] = 0
        nearest = np.minimum(nearest, ((points - points[drawn]) ** 2).sum(axis=1))
    return np.array(chosen, np.int64)
