"""Selectors that look at each column: none, correlation, family, groups, principal components."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.basics.hints import Part, Positive
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import LEARNERS
from qe.learning.parameters import NameIn, StrategyIn
from qe.learning.selector import SELECTORS, NothingSelected, Selector
from qe.statistics.metric import METRICS


def correlations(X: FloatArray, y: FloatArray) -> FloatArray:
    """|Pearson's r| (k,) of each column with y; 0 if either is constant."""
    varies = (np.ptp(X, axis=0) > 0) & (np.ptp(y) > 0)
    centred, target = X - X.mean(axis=0), y - y.mean()
    norm = np.sqrt((centred**2).sum(axis=0) * (target @ target))
    return np.where(varies, np.abs(centred.T @ target), 0.0) / np.where(varies & (norm > 0), norm, 1.0)


def never_empty(support: BoolArray, scores: FloatArray) -> BoolArray:
    return support if support.any() else np.asarray(np.arange(len(scores)) == scores.argmax())


MetricName = Annotated[str, NameIn(METRICS)]
LearnerConfig = Annotated[Mapping[str, Any], StrategyIn(LEARNERS)]
SelectorConfig = Annotated[Mapping[str, Any], StrategyIn(SELECTORS)]


def column_names(selector: Any) -> list[str]:
    names = [str(name) for name in getattr(selector, "feature_names_in_", ())]
    if not names:
        raise InputError(
            "features are selected by name, but they have no names here", remedy="pass a DataFrame"
        )
    return names


def matching(pattern: str, names: list[str]) -> BoolArray:
    chosen = np.asarray([fnmatchcase(name, pattern) for name in names])
    if not chosen.any():
        raise InputError(f"no feature matches '{pattern}'", remedy=f"known: {', '.join(names)}")
    return chosen


@SELECTORS.register("none")
class KeepAll(Selector):
    """Keeps all columns unchanged."""

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        validate_data(self, X)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return np.ones(self.n_features_in_, np.bool_)


@SELECTORS.register("correlation")
@dataclass(eq=False, repr=False)
class CorrelationPruning(Selector):
    """Keeps each feature, in column order, whose |r| with all kept before it is at most `threshold`.

    A constant feature is dropped; if all features are constant, the first stays, because a learner needs a
    column. Labels are not used. Source: WMT12 Loria, Algorithm 1, first loop (threshold .999).
    """

    space: ClassVar[Mapping[str, Distribution]] = {"threshold": FloatRange(0.7, 0.999)}

    threshold: Part = 0.999

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        self.support_ = uncorrelated(validate_data(self, X, dtype=np.float64), self.threshold)
        return self


def uncorrelated(X: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """Mask (k,) of the columns of X (n, k) that stay."""
    centred = X - X.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    # After centring, a constant column contains rounding noise proportional to its values.
    constant = norm <= 1e-12 * np.sqrt(len(X)) * np.abs(X).max(axis=0, initial=0.0)
    if constant.all():
        return np.asarray(np.arange(X.shape[1]) == 0)
    unit = centred / np.where(constant, 1.0, norm)
    close = np.abs(unit.T @ unit) > threshold
    keep: NDArray[np.bool_] = ~constant
    for column in np.flatnonzero(~constant):
        if keep[column]:
            keep[column + 1 :] &= ~close[column, column + 1 :]
    return keep


@SELECTORS.register("family")
@dataclass(eq=False, repr=False)
class Family(Selector):
    """Keeps the columns that match a pattern of `keep` and none of `drop`, e.g. `lm_*`, `1001`.

    Patterns are shell patterns, case matters; without `keep` all columns match. Needs named columns (a
    DataFrame). Raises InputError if X has no names, a pattern matches nothing, or nothing is left.
    """

    keep: Sequence[str] = ()
    drop: Sequence[str] = ()

    def fit(self, X: Any, y: Any = None) -> Self:
        validate_data(self, X)
        names = column_names(self) if len(self.keep) or len(self.drop) else []
        self.support_ = np.ones(self.n_features_in_, np.bool_)
        if len(self.keep):
            self.support_ = np.any([matching(pattern, names) for pattern in self.keep], axis=0)
        for pattern in self.drop:
            self.support_ &= ~matching(pattern, names)
        if not self.support_.any():
            raise NothingSelected(f"no feature is left after dropping {list(self.drop)}")
        return self


@SELECTORS.register("groups")
@dataclass(eq=False, repr=False)
class Groups(Selector):
    """Drops the columns of disabled groups.

    In an experiment, `space: {use: {lm: [true, false], ...}}` lets every trial draw each group.
    Needs named columns (a DataFrame) if there are groups. Raises InputError if X has no names, a
    pattern matches nothing, or `use` names no group; NothingSelected if no column is left.

    Parameters
    ----------
    groups : mapping of str to sequence of str or None, default=None
        Name -> shell patterns of column names, e.g. `{lm: [lm_*], length: ["1001", "1002"]}`.
    use : mapping of str to bool or None, default=None
        Name -> whether the group is kept. Other groups, and columns without a group, are kept.
    """

    groups: Mapping[str, Sequence[str]] | None = None
    use: Mapping[str, bool] | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        validate_data(self, X)
        self.support_ = np.ones(self.n_features_in_, np.bool_)
        groups, use = self.groups or {}, self.use or {}
        unknown = sorted(set(use) - set(groups))
        if unknown:
            raise InputError(
                f"`use` names {', '.join(unknown)}", remedy=f"groups: {', '.join(groups) or 'none'}"
            )
        names = column_names(self) if groups else []
        for name, patterns in groups.items():
            chosen = np.any([matching(pattern, names) for pattern in patterns], axis=0)
            if not use.get(name, True):
                self.support_ &= ~chosen
        if not self.support_.any():
            raise NothingSelected("no feature is left: every group is switched off")
        return self


@SELECTORS.register("pca")
@dataclass(eq=False, repr=False)
class PrincipalComponents(Selector):
    """Replaces the features by the directions of largest variance; labels are not used.

    New columns are `pc0`, `pc1`, ...; all features contribute, so `get_support` is all True. The largest
    loading of a component is positive.

    Source: Pearson 1901; WMT12 PRHLT-UPV, Section 3.1 (PS).

    Parameters
    ----------
    n_components : float, default=0.95
        A number (at most the rank), or a share of the variance in 0 .. 1.
    whiten : bool, default=False
        Scales components to unit variance.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"n_components": IntRange(5, 250, log=True)}

    n_components: Positive = 0.95
    whiten: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        X = np.asarray(validate_data(self, X, dtype=np.float64))
        if not self.n_components > 0:
            raise InputError(f"n_components must be positive, but got {self.n_components}")
        self.means_ = X.mean(axis=0)
        _, singular, rows = np.linalg.svd(X - self.means_, full_matrices=False)
        variances = singular**2 / max(len(X) - 1, 1)
        rank = max(int((singular > 1e-10 * max(float(singular.max()), 1e-300)).sum()), 1)
        if self.n_components >= 1 or variances.sum() == 0:
            size = max(int(self.n_components), 1)
        else:
            share = np.cumsum(variances) / variances.sum()
            size = int(np.searchsorted(share, self.n_components * (1 - 1e-12))) + 1
        size = min(size, rank)
        largest = np.abs(rows[:size]).argmax(axis=1)
        signs = np.where(rows[np.arange(size), largest] < 0, -1.0, 1.0)
        deviations = np.sqrt(np.where(variances[:size] > 0, variances[:size], 1.0))
        self.components_ = rows[:size] * signs[:, None]
        if self.whiten:
            self.components_ = self.components_ / deviations[:, None]
        self.explained_variance_ = variances[:size]
        return self

    def transform(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        return np.asarray((X - self.means_) @ self.components_.T)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        return np.asarray([f"pc{i}" for i in range(len(self.components_))], dtype=object)

    def _get_support_mask(self) -> BoolArray:
        return np.ones(self.n_features_in_, np.bool_)
