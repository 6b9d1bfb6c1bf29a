"""Features by their merit one by one: greedy, by frequency over folds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from features.basics.errors import InputError
from features.basics.hints import Count, Folds, Inner, Share
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learners.checks import training_data
from qe.learning.learners.ensembles import grid_points, make_members
from qe.learning.parameters import Grid
from qe.learning.selector import SELECTORS, Selector
from qe.learning.selectors.columns import LearnerConfig, MetricName, SelectorConfig, correlations, never_empty
from qe.learning.selectors.greedy import Judge, splits
from qe.learning.selectors.paths import forward_path, predictions_of


@dataclass(repr=False, eq=False)
class GreedyIndividual(Selector):
    """Ranks features by the metric of a model on each alone; keeps the first `n_features`.

    After fit: `individual_` (k,) metric of each feature alone, higher is better; `joint_` (sets,
    combinations) metric of each set; `params_` the best combination.

    Source: WMT12 PRHLT-UPV, Section 3.2 (GS); 4.2: "the parameters of each system were tuned".

    Parameters
    ----------
    n_features : int or None, default=None
        None: the number whose joint model performs best on the held-out rows.
    metric : str, default='mae'
        A metric's name; `label_sign` -1 if low labels are good (matters to ranking metrics).
    folds : int, default=10
        Number of folds, to which contiguous blocks of 31 rows are assigned; held-out predictions are pooled.
    validation : float or None, default=None
        Share of the rows, the last ones, held out instead of folds; None: folds.
    learner : mapping or None, default=None
        `{kind: NAME, ...}`, refitted; None: least squares.
    step : int, default=1
        If `n_features` is None, tries sets of `step`, 2 `step`, ... features, and all features.
    grid : mapping of str to sequence of Any or None, default=None
        Parameter of the learner -> values to try with every set; None: those of `learner`. Single
        features are ranked with the parameters of `learner`.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"n_features": IntRange(5, 250, log=True)}

    n_features: Count | None = None
    metric: MetricName = "mae"
    folds: Folds = 10
    learner: LearnerConfig | None = None
    label_sign: float = 1.0
    validation: Inner | None = None
    step: Count = 1
    grid: Grid | None = None

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        combinations = grid_points(self.grid)
        parts = splits(len(y), self.folds, False, self.validation)
        judge = Judge.make(self.metric, y, parts, self.label_sign)
        self.individual_ = judge.scores(forward_path(X, y, parts, self.learner).candidates())
        ranked = np.argsort(-self.individual_, kind="stable")
        k = X.shape[1]
        sizes = [self.n_features] if self.n_features else [*range(self.step, k, self.step), k]
        place, chosen = 0, 0
        if len(sizes) > 1 or len(combinations) > 1:
            if self.learner is None:
                path, scores = forward_path(X, y, parts, None), []
                for feature in ranked:
                    path.change(int(feature))
                    scores.append([judge.score(path.predictions)])
                self.joint_ = np.array([scores[size - 1] for size in sizes])
            else:
                learners = [{**self.learner, **params} for params in combinations]
                sets = [np.isin(np.arange(k), ranked[:size]) for size in sizes]
                outputs = (predictions_of(learners, X, y, parts, taken) for taken in sets)
                self.joint_ = np.array([judge.scores(predictions) for predictions in outputs])
            place, chosen = divmod(int(np.argmax(self.joint_)), len(combinations))
        self.params_ = combinations[chosen]
        self.support_ = np.isin(np.arange(k), ranked[: sizes[place]])
        return self

    def check_parameters(self) -> None:
        if not self.grid:
            return
        if self.learner is None:
            raise InputError("`grid` needs a `learner`", remedy="give `learner: {kind: svr_rbf}`, or no grid")
        for params in grid_points(self.grid):
            make_members([{**self.learner, **params}], 0)


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
