"""Prediction intervals: conformal, from out-of-fold residuals, wider where a segment looks harder."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from qe.dataset import LabelScale
from qe.significance.bootstrap import bootstrap_scores
from qe.significance.intervals import percentile_interval

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
LEVELS = (0.8, 0.9, 0.95)
_FILE, _SCORES = "intervals.json", "interval_scores.npy"
_PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of the ridge, per row
_NARROWEST, _WIDEST = 0.5, 2.0  # bounds of the predicted error, as shares of the mean error


@dataclass(frozen=True, eq=False)
class Difficulty:
    """Predicts the absolute error of a prediction: ridge regression on the features and the prediction.

    medians       (k,) stand in for undefined features
    centre        (k + 2,) mean of each input (features, prediction, its square) on the training rows
    coefficients  (k + 2,) change of the expected error per unit of each input
    intercept     expected error at the centre
    mean          mean absolute error; what is predicted stays between half and twice of it
    """

    medians: FloatArray
    centre: FloatArray
    coefficients: FloatArray
    intercept: float
    mean: float

    def predict(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n,) expected absolute errors, positive (1 where the rows fitted to had no errors)."""
        if self.mean == 0:
            return np.ones(len(predicted))
        centred = _inputs(features, predicted, self.medians) - self.centre
        raw = self.intercept + (centred * self.coefficients).sum(axis=1)
        return np.asarray(np.clip(raw, _NARROWEST * self.mean, _WIDEST * self.mean))

    def to_json(self) -> dict[str, Any]:
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        arrays = {name: np.array(content[name]) for name in ("medians", "centre", "coefficients")}
        return cls(**arrays, intercept=content["intercept"], mean=content["mean"])


@dataclass(frozen=True, eq=False)
class _Fits:
    """Fits of the difficulty to any union of folds: sums per fold, so that a fit costs one linear system.

    Medians and spreads come from all rows: they see no label.
    """

    medians: FloatArray
    centre: FloatArray
    weights: FloatArray
    grams: FloatArray
    moments: FloatArray
    totals: FloatArray
    counts: FloatArray

    @classmethod
    def make(
        cls, features: FloatArray, predicted: FloatArray, errors: FloatArray, folds: Sequence[Rows]
    ) -> Self:
        medians = _medians(features)
        inputs = _inputs(features, predicted, medians)
        centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
        weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        standard = np.column_stack([(inputs - centre) * weights, np.ones(len(inputs))])
        return cls(
            medians,
            centre,
            weights,
            np.stack([standard[rows].T @ standard[rows] for rows in folds]),
            np.stack([standard[rows].T @ errors[rows] for rows in folds]),
            np.array([errors[rows].sum() for rows in folds]),
            np.array([float(len(rows)) for rows in folds]),
        )

    def fit(self, folds: Sequence[int], penalty: float) -> Difficulty:
        """The difficulty fitted to the rows of the numbered folds; `penalty` is per row."""
        chosen = list(folds)
        rows = self.counts[chosen].sum()
        ridge = np.full(len(self.weights) + 1, penalty * rows)
        ridge[-1] = 1e-9  # the intercept is not shrunk
        gram = self.grams[chosen].sum(axis=0) + np.diag(ridge)
        slopes = np.linalg.solve(gram, self.moments[chosen].sum(axis=0))
        mean = float(self.totals[chosen].sum() / rows)
        return Difficulty(self.medians, self.centre, slopes[:-1] * self.weights, float(slopes[-1]), mean)


@dataclass(frozen=True)
class Coverage:
    """How often intervals of a nominal `level` held the gold label, and how wide they were.

    ci     95 % bootstrap interval of the coverage
    width  mean, in label units
    """

    level: float
    coverage: float
    ci: tuple[float, float]
    width: float
    n: int


@dataclass(frozen=True, eq=False)
class Intervals:
    """Conformal intervals around a model's predictions.

    scores      (n,) sorted |gold - predicted| / predicted difficulty of rows that the prediction never saw
    scale       bounds are moved into the label's range
    method      cross: rows predicted out of fold; split: rows held out from training
    measured    coverage on rows held out from the calibration too

    Sources: split conformal prediction with normalised residuals: Lei et al. 2018, section 5.2; residuals of
    cross-validation: Vovk 2015 (cross-conformal predictors). The interval is centred on the model fitted to
    all rows, not on the fold models, so that scoring costs one prediction; coverage is therefore measured.
    """

    difficulty: Difficulty
    scores: FloatArray
    scale: LabelScale
    method: str = "cross"
    measured: tuple[Coverage, ...] = field(default=())

    def bounds(
        self, features: FloatArray, predicted: FloatArray, level: float
    ) -> tuple[FloatArray, FloatArray]:
        """(n,) lower and upper bounds that hold a share `level` of new labels.

        Raises InputError for a level that so few calibration rows cannot promise.
        """
        width = self.quantile(level) * self.difficulty.predict(features, predicted)
        return self.scale.clip(predicted - width), self.scale.clip(predicted + width)

    def quantile(self, level: float) -> float:
        """How many times the expected error an interval reaches to either side. Raises as `bounds` does."""
        return conformal_quantile(self.scores, level)

    def recalibrated(self, features: FloatArray, predicted: FloatArray, gold: FloatArray) -> "Intervals":
        """Split-conformal intervals from labelled rows that neither model nor difficulty was fitted to.

        Their coverage is at least the level, and at most 1 / (n + 1) more, for exchangeable rows.
        """
        scores = np.sort(np.abs(gold - predicted) / self.difficulty.predict(features, predicted))
        return replace(self, scores=scores, method="split", measured=())

    def save(self, folder: Path) -> None:
        """Writes intervals.json and interval_scores.npy into an existing folder."""
        content = {
            "method": self.method,
            "scale": asdict(self.scale),
            "difficulty": self.difficulty.to_json(),
            "measured": [asdict(entry) for entry in self.measured],
        }
        (folder / _FILE).write_text(json.dumps(content) + "\n", "utf-8")
        np.save(folder / _SCORES, self.scores, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What `save` wrote. Raises InputError for a model that was trained without intervals."""
        try:
            content = json.loads((folder / _FILE).read_text("utf-8"))
            scores = np.load(folder / _SCORES, allow_pickle=False)
        except FileNotFoundError:
            raise InputError(
                "the model has no prediction intervals", where=folder, remedy="train it again"
            ) from None
        measured = tuple(Coverage(**{**entry, "ci": tuple(entry["ci"])}) for entry in content["measured"])
        difficulty = Difficulty.from_json(content["difficulty"])
        return cls(difficulty, scores, LabelScale(**content["scale"]), content["method"], measured)


def conformal_quantile(scores: FloatArray, level: float) -> float:
    """The ceil((n + 1) level)-th smallest of n sorted scores.

    Raises InputError for a level outside (0, 1), or one that needs more than n scores.

    >>> conformal_quantile(np.arange(1.0, 20.0), 0.9)
    18.0
    """
    if not 0 < level < 1:
        raise InputError(f"an interval's level lies between 0 and 1, but got {level:g}", remedy="such as 0.9")
    rank = math.ceil(round((len(scores) + 1) * level, 9))
    if rank > len(scores):
        need = math.ceil(round(level / (1 - level), 9))
        raise InputError(
            f"a level of {level:g} needs {need} labelled segments to calibrate, but there are {len(scores)}"
        )
    return float(scores[rank - 1])


def cross_conformal(
    features: FloatArray,
    predicted: FloatArray,
    gold: FloatArray,
    held_out: Sequence[Rows],
    scale: LabelScale,
    *,
    levels: Sequence[float] = LEVELS,
    seed: int = 0,
) -> Intervals:
    """Intervals from out-of-fold predictions; their coverage is measured fold by fold.

    features   (n, k) of the training rows, NaN where undefined
    predicted  (n,) out-of-fold predictions
    held_out   the rows of every fold: each row in one fold

    Difficulty is cross-fitted over the same folds, so that no row's error shapes its own score. For the
    coverage of a fold, difficulty and quantile come from the other folds alone; it is not measured for
    levels that these cannot promise, nor with two folds.
    """
    rows = _Residuals(features, predicted, np.abs(gold - predicted), tuple(held_out))
    fits = _Fits.make(features, predicted, rows.errors, held_out)
    every = list(range(len(held_out)))
    penalty = min(_PENALTIES, key=lambda penalty: rows.loss(fits, every, penalty))
    scores = np.concatenate(rows.scores(fits, every, penalty))
    smallest = len(gold) - max(map(len, held_out))
    possible = [level for level in levels if level / (1 - level) <= smallest and len(held_out) > 2]
    measured = tuple(
        coverage(gold, *_held_out_bounds(rows, fits, penalty, scale, level), level=level, seed=seed)
        for level in possible
    )
    return Intervals(fits.fit(every, penalty), np.sort(scores), scale, "cross", measured)


def split_conformal(
    fitted: Intervals,
    features: FloatArray,
    predicted: FloatArray,
    gold: FloatArray,
    *,
    levels: Sequence[float] = LEVELS,
    folds: int = 5,
    seed: int = 0,
) -> Intervals:
    """Split-conformal intervals from (n,) labelled rows that the model never saw, with `fitted`'s difficulty.

    Their coverage is measured on every fifth of these rows by what the others give; not for levels that
    these cannot promise. Raises InputError for fewer rows than folds.
    """
    if len(gold) < folds:
        raise InputError(f"{len(gold)} rows cannot calibrate intervals", remedy=f"give at least {folds}")
    scores = np.abs(gold - predicted) / fitted.difficulty.predict(features, predicted)
    parts = np.array_split(np.random.default_rng(seed).permutation(len(gold)), folds)
    smallest = len(gold) - max(map(len, parts))
    measured = []
    for level in (level for level in levels if level / (1 - level) <= smallest):
        low, high = np.full((2, len(gold)), np.nan)
        for test in parts:
            others = replace(fitted, scores=np.sort(np.delete(scores, test)), method="split")
            low[test], high[test] = others.bounds(features[test], predicted[test], level)
        measured.append(coverage(gold, low, high, level, seed))
    return replace(fitted.recalibrated(features, predicted, gold), measured=tuple(measured))


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Out-of-fold predictions, their absolute errors, and the rows of every fold."""

    features: FloatArray
    predicted: FloatArray
    errors: FloatArray
    folds: tuple[Rows, ...]

    def difficulty(self, fits: _Fits, folds: Sequence[int], penalty: float) -> list[FloatArray]:
        """Per fold of `folds`, the difficulty of its rows as the others of `folds` predict it."""
        found = []
        for fold in folds:
            rows = self.folds[fold]
            fitted = fits.fit([other for other in folds if other != fold], penalty)
            found.append(fitted.predict(self.features[rows], self.predicted[rows]))
        return found

    def scores(self, fits: _Fits, folds: Sequence[int], penalty: float) -> list[FloatArray]:
        """Per fold of `folds`, errors over difficulty."""
        difficulty = self.difficulty(fits, folds, penalty)
        return [self.errors[self.folds[fold]] / d for fold, d in zip(folds, difficulty, strict=True)]

    def loss(self, fits: _Fits, folds: Sequence[int], penalty: float) -> float:
        """The squared distance of cross-fitted difficulty and errors."""
        difficulty = self.difficulty(fits, folds, penalty)
        pairs = zip(folds, difficulty, strict=True)
        return float(sum(((self.errors[self.folds[fold]] - d) ** 2).sum() for fold, d in pairs))


def _held_out_bounds(
    rows: "_Residuals", fits: _Fits, penalty: float, scale: LabelScale, level: float
) -> tuple[FloatArray, FloatArray]:
    """(n,) bounds of every fold's rows, by intervals that the other folds alone gave."""
    low, high = np.full((2, len(rows.errors)), np.nan)
    every = range(len(rows.folds))
    for fold, test in enumerate(rows.folds):
        others = [other for other in every if other != fold]
        calibration = np.sort(np.concatenate(rows.scores(fits, others, penalty)))
        intervals = Intervals(fits.fit(others, penalty), calibration, scale)
        low[test], high[test] = intervals.bounds(rows.features[test], rows.predicted[test], level)
    return low, high


def coverage(gold: FloatArray, low: FloatArray, high: FloatArray, level: float, seed: int = 0) -> Coverage:
    """How often (n,) intervals held the label."""
    inside = ((low <= gold) & (gold <= high)).astype(np.float64)
    statistics = np.stack([inside, np.ones_like(inside)], axis=1)
    drawn = bootstrap_scores(statistics, lambda sums: sums[..., 0] / sums[..., 1], samples=1000, seed=seed)
    width = float((high - low).mean())
    return Coverage(level, float(inside.mean()), percentile_interval(drawn[0]), width, len(gold))


def _medians(features: FloatArray) -> FloatArray:
    """(k,) medians of what is defined; 0 for a column that is undefined throughout."""
    empty = np.isnan(features).all(axis=0) if len(features) else np.ones(features.shape[1], np.bool_)
    medians = np.zeros(features.shape[1])
    medians[~empty] = np.nanmedian(features[:, ~empty], axis=0)
    return medians


def _inputs(features: FloatArray, predicted: FloatArray, medians: FloatArray) -> FloatArray:
    filled = np.where(np.isnan(features), medians, features)
    return np.column_stack([filled, predicted, predicted**2])
