"""Features that another selector keeps in most folds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from features.basics.array_types import BoolArray
from features.basics.errors import InputError
from features.basics.hints import Share
from qe.config.distributions import Distribution, FloatRange
from qe.config.ranges import Folds
from qe.learning.learners.checks import training_data
from qe.learning.selector import SELECTORS, Selector
from qe.learning.selectors.columns import SelectorConfig, correlations, never_empty
from qe.learning.selectors.greedy import splits


@dataclass(repr=False, eq=False)
class FoldFrequency(Selector):
    """Runs a selector on the training part of every fold; keeps features selected in a share of the folds.

    If no feature is left, the most frequent one stays (ties: the most correlated one). After fit:
    `frequencies_` (k,). Raises InputError for a selector that creates new columns.

    Source: WMT12 DFKI, Section 3.3.

    Parameters
    ----------
    selector : mapping or None, default=None
        `{kind: NAME, parameter: value, ...}`.
    folds : int, default=10
        Number of folds, to which contiguous blocks of 31 rows are assigned.
    frequency : float, default=0.9
        .9 of 10 folds is the published choice.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"frequency": FloatRange(0.5, 1.0)}

    selector: SelectorConfig | None = None
    folds: Folds = 10
    frequency: Share = 0.9

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        given = {"kind": "cfs"} if self.selector is None else dict(self.selector)
        kind = given.pop("kind", None)
        if kind in (None, "pca"):
            raise InputError(
                f"cannot count the features that selector '{kind}' keeps", remedy="e.g. {kind: cfs}"
            )
        kept = [
            SELECTORS.get(kind)(**given).fit(X[train], y[train]).get_support()
            for train, _ in splits(len(y), self.folds, one_split=False)
        ]
        self.frequencies_ = np.mean(kept, axis=0)
        # The share of 9 in 10 folds is .9 up to rounding.
        often = self.frequencies_ >= self.frequency - 1e-9
        self.support_ = never_empty(often, self.frequencies_ + 1e-6 * correlations(X, y))
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)
