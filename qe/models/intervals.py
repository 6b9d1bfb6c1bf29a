"""Conformal prediction intervals from out-of-fold residuals, wider for difficult segments; shifts of data."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.storage.damage import Damaged, finite, rising, typed, within
from qe.data.dataset import LabelScale
from qe.display.summary import Printable
from qe.evaluation.coverage import Coverage, coverage
from qe.models.artifact import REMEDY, Artifact
from qe.models.taxonomy import TAXONOMIES, Column, Grouping, Taxonomy


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """A linear function of k features, the prediction and its square.

    medians       (k,) replace undefined features
    centre        (k + 2,) mean of each input on the training rows
    coefficients  (k + 2,) change of the value per unit of each input
    intercept     value at the centre
    """

    medians: FloatArray
    centre: FloatArray
    coefficients: FloatArray
    intercept: float

    def value(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        centred = inputs(features, predicted, self.medians) - self.centre
        return np.asarray(self.intercept + (centred * self.coefficients).sum(axis=1))

    def check_arrays(self) -> None:
        typed("medians", self.medians, np.float64, None)
        typed("centre", self.centre, np.float64, len(self.medians) + 2)
        typed("coefficients", self.coefficients, np.float64, len(self.medians) + 2)


def inputs(features: FloatArray, predicted: FloatArray, medians: FloatArray) -> FloatArray:
    """Inputs (n, k + 2): features (medians if undefined), prediction, its square."""
    filled = np.where(np.isnan(features), medians, features)
    return np.column_stack([filled, predicted, predicted**2])


PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # ridge penalties per row
_NARROWEST, _WIDEST = 0.5, 2.0  # bounds of the predicted error, as shares of the mean error


@dataclass(frozen=True, eq=False)
class Difficulty(LinearFunction):
    """Ridge regression of the absolute error, kept between half and twice its mean."""

    mean: float

    def predict(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        """Expected absolute errors (n,), positive (1 if the training rows had no errors)."""
        if self.mean == 0:
            return np.ones(len(predicted))
        raw = self.value(features, predicted)
        return np.asarray(np.clip(raw, _NARROWEST * self.mean, _WIDEST * self.mean))


@dataclass(frozen=True, eq=False)
class Fits:
    """Difficulty models for any union of folds, from sums per fold."""

    medians: FloatArray
    centre: FloatArray
    weights: FloatArray
    grams: FloatArray
    moments: FloatArray
    totals: FloatArray
    counts: FloatArray

    @classmethod
    def make(
        cls, features: FloatArray, predicted: FloatArray, errors: FloatArray, folds: Sequence[IntArray]
    ) -> Self:
        medians = medians_of(features)
        table = inputs(features, predicted, medians)
        centre, spread = table.mean(axis=0), table.std(axis=0)
        weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        standard = np.column_stack([(table - centre) * weights, np.ones(len(table))])
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
        chosen = list(folds)
        rows = self.counts[chosen].sum()
        ridge = np.full(len(self.weights) + 1, penalty * rows)
        ridge[-1] = 1e-9  # the intercept is not shrunk
        gram = self.grams[chosen].sum(axis=0) + np.diag(ridge)
        slopes = np.linalg.solve(gram, self.moments[chosen].sum(axis=0))
        mean = float(self.totals[chosen].sum() / rows)
        return Difficulty(self.medians, self.centre, slopes[:-1] * self.weights, float(slopes[-1]), mean)


def medians_of(features: FloatArray) -> FloatArray:
    """Medians (k,) of defined values; 0 for a column without any."""
    empty = np.isnan(features).all(axis=0) if len(features) else np.ones(features.shape[1], np.bool_)
    medians = np.zeros(features.shape[1])
    medians[~empty] = np.nanmedian(features[:, ~empty], axis=0)
    return medians


_PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)  # scikit-learn's C: from almost no shift to almost no shrinkage
_MOST = 20.0  # weights are between 1/20 and 20 times the mean, so that a few rows do not dominate


@dataclass(frozen=True, eq=False)
class DensityRatio(LinearFunction):
    """Log ratio of two densities by logistic regression (Tibshirani, Barber, Candes and Ramdas 2019, 2.3)."""

    @classmethod
    def fit(
        cls,
        features: FloatArray,
        predicted: FloatArray,
        new_features: FloatArray,
        new_predicted: FloatArray,
        seed: int = 0,
    ) -> Self:
        """Fits features (n, k) and predictions (n,); cross-validation chooses the penalty (5 folds)."""
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.model_selection import StratifiedKFold

        medians = medians_of(features)
        own, other = inputs(features, predicted, medians), inputs(new_features, new_predicted, medians)
        table = np.concatenate([own, other])
        centre, spread = table.mean(axis=0), table.std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        is_new = np.repeat([0, 1], [len(own), len(other)])
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        fitted = LogisticRegressionCV(
            Cs=list(_PENALTIES), l1_ratios=(0.0,), cv=folds, scoring="neg_log_loss", max_iter=1000,
            use_legacy_attributes=False,
        )  # fmt: skip
        fitted.fit((table - centre) * scale, is_new)
        intercept = float(np.ravel(fitted.intercept_)[0] - np.log(len(other) / len(own)))
        return cls(medians, centre, np.ravel(fitted.coef_) * scale, intercept)

    def weights(self, features: FloatArray, predicted: FloatArray) -> FloatArray:
        """Density (n,) of new segments over that of calibration rows, from 1/20 to 20."""
        raw = self.value(features, predicted)
        return np.asarray(np.exp(np.clip(raw, -np.log(_MOST), np.log(_MOST))))


LEVELS = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Labelled rows with (n, k) features, (n,) held-out predictions, (n,) labels, groups and weights."""

    features: FloatArray
    predicted: FloatArray
    gold: FloatArray
    column: Column = ()
    weights: FloatArray | None = None

    def take(self, rows: IntArray) -> "CalibrationRows":
        column = [self.column[row] for row in rows] if len(self.column) else ()
        weights = None if self.weights is None else self.weights[rows]
        return CalibrationRows(self.features[rows], self.predicted[rows], self.gold[rows], column, weights)

    def weighed(self, shift: DensityRatio | None) -> FloatArray | None:
        if shift is None:
            return self.weights
        ratio = shift.weights(self.features, self.predicted)
        return ratio if self.weights is None else ratio * self.weights


@dataclass(frozen=True, eq=False)
class Intervals(Artifact, Printable):
    """Conformal intervals around a model's predictions.

    Sources: split conformal prediction with normalised residuals: Lei et al. 2018, section 5.2; residuals of
    cross-validation: Vovk 2015 (cross-conformal predictors); weights: Tibshirani et al. 2019, equation 7;
    groups: `Taxonomy`. The interval is centred on the model fitted to all rows, so coverage is measured.

    Attributes
    ----------
    scores : array of float
        (n,) sorted |gold - predicted| / predicted difficulty of held-out predictions.
    scale : LabelScale
        Bounds are clipped to the label's range.
    method : str
        cross: rows predicted out of fold; split: rows held out from training.
    measured : tuple of Coverage
        Coverage on rows held out from the calibration too.
    taxonomy : str or None
        Groups that are calibrated separately; None: all rows form one group.
    groups : array of int or None
        (n,) the group of each score; None without a taxonomy.
    new_weight : float
        Weight of a new row, before `shift`.
    shift : DensityRatio or None
        Density ratio that weights the scores and new rows; None: no reweighting.
    """

    file: ClassVar[str] = "intervals"
    noun: ClassVar[str] = "the intervals"
    absent: ClassVar[str] = "the model has no prediction intervals"
    absent_remedy: ClassVar[str] = "train it again, with labels: they are what intervals are made of"

    difficulty: Difficulty
    scores: FloatArray
    scale: LabelScale
    method: str = "cross"
    measured: tuple[Coverage, ...] = field(default=())
    taxonomy: Taxonomy | None = None
    groups: IntArray | None = None
    weights: FloatArray | None = None
    new_weight: float = 1.0
    shift: DensityRatio | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Segment columns that bounds depend on, in addition to the features'."""
        name = None if self.taxonomy is None else self.taxonomy.reads
        return () if name is None else (name,)

    @property
    def effective(self) -> float:
        """Effective number of scores: (sum w)^2 / sum w^2."""
        if self.weights is None:
            return float(len(self.scores))
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    def bounds(
        self, features: FloatArray, predicted: FloatArray, level: float, column: Column = ()
    ) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds (n,) that contain a share `level` of new labels.

        `column` has (n,) values if `columns` names one. NaN for a row of an uncalibrated group, and for a
        group with too few rows for the level if the scale is unbounded. Raises InputError for a level that
        needs more rows.
        """
        self.check_level(level)
        low, high = self.reached(features, predicted, level, column)
        undefined = ~(np.isfinite(low) & np.isfinite(high))
        return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)

    def reached(
        self, features: FloatArray, predicted: FloatArray, level: float, column: Column = ()
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds like `bounds`, but infinite if the level needs more rows than a group has."""
        weight = np.ones(1)
        if self.weights is not None:
            ratio = np.ones(len(predicted)) if self.shift is None else self.shift.weights(features, predicted)
            weight = self.new_weight * ratio
        difficulty = self.difficulty.predict(features, predicted)
        size = 1 if self.taxonomy is None else self.taxonomy.size
        reach = np.empty((len(predicted), size))
        for number in range(size):
            rows = slice(None) if self.groups is None else self.groups == number
            scores = self.scores[rows]
            weights = np.ones(len(scores)) if self.weights is None else self.weights[rows]
            reach[:, number] = weighted_quantiles(scores, weights, weight, level) * difficulty
        if self.taxonomy is None:
            low, high = predicted - reach[:, 0], predicted + reach[:, 0]
        else:
            low, high = self.taxonomy.bounds(predicted, reach, column)
        return self.scale.clip(low), self.scale.clip(high)

    def check_level(self, level: float) -> None:
        """Raises InputError for a level that needs more rows than the largest group has."""
        largest = len(self.scores) if self.groups is None else int(np.bincount(self.groups).max())
        conformal_quantile(self.scores[:largest], level)

    def recalibrated(self, rows: CalibrationRows) -> "Intervals":
        """Split-conformal intervals from labelled rows new to both model and difficulty.

        Their coverage is at least the level, and at most 1 / (n + 1) more, for exchangeable rows (within each
        group, if there are groups).
        """
        scores = np.abs(rows.gold - rows.predicted) / self.difficulty.predict(rows.features, rows.predicted)
        taxonomy = None if self.taxonomy is None else self.taxonomy.extended(rows.column)
        return _calibrated(self.difficulty, scores, rows, self.scale, "split", taxonomy, self.shift)

    def check_arrays(self) -> None:
        typed("scores", self.scores, np.float64, None)
        rising("scores", self.scores, None, None)
        self.difficulty.check_arrays()
        if self.shift is not None:
            self.shift.check_arrays()
        if self.weights is not None:
            typed("weights", self.weights, np.float64, len(self.scores))
            finite("weights", self.weights, 0)
        if (self.taxonomy is None) != (self.groups is None):
            raise Damaged("there must be groups with a taxonomy, and none without")
        if self.taxonomy is not None and self.groups is not None:
            typed("groups", self.groups, np.int64, len(self.scores))
            within("groups", self.groups, 0, self.taxonomy.size)

    def check(self, width: int, location: Path) -> None:
        """Raises InputError if the intervals belong to a model with another number of features."""
        fitted = len(self.difficulty.medians)
        if fitted != width:
            raise InputError(
                f"intervals of {fitted} features in a model of {width}", location=location, remedy=REMEDY
            )


def conformal_quantile(scores: FloatArray, level: float) -> float:
    """The ceil((n + 1) level)-th smallest of n sorted scores."""
    if not 0 < level < 1:
        raise InputError(f"an interval's level lies between 0 and 1, but got {level:g}", remedy="such as 0.9")
    rank = math.ceil(round((len(scores) + 1) * level, 9))
    if rank > len(scores):
        need = math.ceil(round(level / (1 - level), 9))
        raise InputError(
            f"a level of {level:g} needs {need} labelled segments to calibrate, but there are {len(scores)}"
        )
    return float(scores[rank - 1])


def weighted_quantiles(scores: FloatArray, weights: FloatArray, new: FloatArray, level: float) -> FloatArray:
    """Weighted quantiles (m,) of n sorted scores, one for each new weight.

    Each is the smallest score at which the cumulative weight reaches `level`. The total includes the new
    row's weight, placed at infinity, so the quantile is infinite if the other weights do not reach the level.
    Source: Tibshirani et al. 2019, equation 7.
    """
    wanted = level * (weights.sum() + new)
    places = np.searchsorted(np.cumsum(weights), wanted - 1e-9 * (1 + wanted))
    return np.asarray(np.append(scores, np.inf)[places])


def _calibrated(
    difficulty: Difficulty,
    scores: FloatArray,
    rows: CalibrationRows,
    scale: LabelScale,
    method: str,
    taxonomy: Taxonomy | None,
    shift: DensityRatio | None,
) -> Intervals:
    order = np.argsort(scores, kind="stable")
    weights = rows.weighed(shift)
    return Intervals(
        difficulty,
        scores[order],
        scale,
        method,
        taxonomy=taxonomy,
        groups=None if taxonomy is None else taxonomy.numbers(rows.predicted, rows.gold, rows.column)[order],
        weights=None if weights is None else weights[order],
        new_weight=1.0 if rows.weights is None else float(rows.weights.max()),
        shift=shift,
    )


def cross_conformal(
    rows: CalibrationRows,
    fold_rows: Sequence[IntArray],
    scale: LabelScale,
    *,
    levels: Sequence[float] = LEVELS,
    seed: int = 0,
    grouping: Grouping | None = None,
    shift: DensityRatio | None = None,
) -> Intervals:
    """Intervals from the out-of-fold predictions of training rows; coverage is measured fold by fold.

    Difficulty is cross-fitted over the same folds, so that a row's error does not affect its own score. A
    fold's coverage uses difficulty, groups and quantiles of the other folds; it is not measured with two
    folds, or for levels that need more rows.
    """
    errors = np.abs(rows.gold - rows.predicted)
    fits = Fits.make(rows.features, rows.predicted, errors, fold_rows)
    residuals = _Residuals(rows, errors, tuple(fold_rows), fits, scale, grouping, shift)
    every = list(range(len(fold_rows)))
    penalty = min(PENALTIES, key=lambda penalty: residuals.loss(every, penalty))

    def intervals_without(fold: int) -> Intervals:
        return residuals.intervals([number for number in every if number != fold], penalty)

    measured = _measured(
        rows, fold_rows, intervals_without, levels if len(every) > 2 else (), seed, scale, shift
    )
    return replace(residuals.intervals(every, penalty), measured=measured)


def split_conformal(
    fitted: Intervals,
    rows: CalibrationRows,
    *,
    levels: Sequence[float] = LEVELS,
    folds: int = 5,
    seed: int = 0,
) -> Intervals:
    """Split-conformal intervals from labelled rows that the model never saw.

    They keep `fitted`'s difficulty, groups and shift. Coverage is measured on every fifth row with intervals
    calibrated on the others, except for levels that need more rows.
    """
    n = len(rows.gold)
    if n < folds:
        raise InputError(f"{n} rows cannot calibrate intervals", remedy=f"give at least {folds}")
    parts = np.array_split(np.random.default_rng(seed).permutation(n), folds)

    def intervals_without(part: int) -> Intervals:
        return fitted.recalibrated(rows.take(np.delete(np.arange(n), parts[part])))

    measured = _measured(rows, parts, intervals_without, levels, seed, fitted.scale, fitted.shift)
    return replace(fitted.recalibrated(rows), measured=measured)


def _measured(
    rows: CalibrationRows,
    parts: Sequence[IntArray],
    intervals_without: Callable[[int], Intervals],
    levels: Sequence[float],
    seed: int,
    scale: LabelScale,
    shift: DensityRatio | None,
) -> tuple[Coverage, ...]:
    smallest = len(rows.gold) - max(map(len, parts))
    possible = [level for level in levels if level / (1 - level) <= smallest]
    bounds = {level: np.full((2, len(rows.gold)), np.nan) for level in possible}
    for number, test in enumerate(parts if possible else ()):
        intervals, new = intervals_without(number), rows.take(test)
        for level in possible:
            bounds[level][:, test] = intervals.reached(new.features, new.predicted, level, new.column)
    weights = rows.weighed(shift)
    return tuple(
        coverage(
            rows.gold, ends[0], ends[1], level, seed,
            predicted=rows.predicted, scale=scale, weights=weights,
        )
        for level, ends in bounds.items()
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Residuals:
    rows: CalibrationRows
    errors: FloatArray
    fold_rows: tuple[IntArray, ...]
    fits: Fits
    scale: LabelScale
    grouping: Grouping | None
    shift: DensityRatio | None

    def difficulty(self, folds: Sequence[int], penalty: float) -> list[FloatArray]:
        predicted = []
        for fold in folds:
            rows = self.fold_rows[fold]
            fitted = self.fits.fit([number for number in folds if number != fold], penalty)
            predicted.append(fitted.predict(self.rows.features[rows], self.rows.predicted[rows]))
        return predicted

    def loss(self, folds: Sequence[int], penalty: float) -> float:
        pairs = zip(folds, self.difficulty(folds, penalty), strict=True)
        return float(sum(((self.errors[self.fold_rows[fold]] - d) ** 2).sum() for fold, d in pairs))

    def intervals(self, folds: Sequence[int], penalty: float) -> Intervals:
        rows = self.rows.take(np.concatenate([self.fold_rows[fold] for fold in folds]))
        taxonomy = None
        if self.grouping is not None:
            kind = TAXONOMIES.get(self.grouping.kind)
            taxonomy = kind.make(self.grouping, rows.predicted, rows.gold, rows.column)
        pairs = zip(folds, self.difficulty(folds, penalty), strict=True)
        scores = np.concatenate([self.errors[self.fold_rows[fold]] / d for fold, d in pairs])
        difficulty = self.fits.fit(folds, penalty)
        return _calibrated(difficulty, scores, rows, self.scale, "cross", taxonomy, self.shift)
