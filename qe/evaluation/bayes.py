"""Bayesian comparisons of QE systems, by fold or by segment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.display.files import plain
from qe.display.numbers import number
from qe.statistics.bayesian import Posterior, correlated_t, signed_rank
from qe.statistics.levels import Groups, Levels, group_index
from qe.statistics.metric import METRICS, title_of
from qe.statistics.result import LEVEL


@dataclass(frozen=True)
class BayesianComparison:
    """Probabilities that the system is better than the baseline, practically equal, or worse.

    They are NaN where so few units cannot decide; `undecided` is the reason.
    """

    system: str
    baseline: str
    metric: str
    rope: float
    better: float
    equal: float
    worse: float
    test: str
    unit: str
    undecided: str = ""

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = plain({**vars(self), "undecided": self.undecided or None})
        return values


def bayesian_comparisons(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    ropes: Mapping[str, float],
    *,
    folds: Groups | None = None,
    groups: Groups | Mapping[str, Groups] | None = None,
    samples: int = 20_000,
    seed: int = 0,
) -> list[BayesianComparison]:
    """All pairs of systems by every metric with a region of practical equivalence.

    Units so few that a test could not decide give no probabilities: with 2 units, .44 of the comparisons of
    equal systems pass .95. Raises InputError for metrics that have no value per segment or are undefined
    in a fold, several kinds of groups, and a group in several folds.

    Parameters
    ----------
    gold, predictions : array of float
        (n,) oriented: higher is better.
    ropes : mapping of str to float
        Metric -> half the width of the region.
    folds : Groups or None, default=None
        (n,) the fold of cross-validation that each segment was predicted in: the metric is computed by
        fold (correlated t test); none: by segment (signed-rank test), MAE alone.
    groups : Groups or mapping of str to Groups or None, default=None
        (n,) the document of each segment: the signed-rank test takes the mean difference of each.
    """
    levels = Levels.from_groups(groups, len(gold))
    if levels.crossed:
        raise InputError(
            "the Bayesian tests take one kind of units", location="--bayes", remedy="give one --group"
        )
    if folds is not None:
        _check_whole(folds, levels)
    comparisons = []
    for name, rope in ropes.items():
        metric = METRICS.get(name)()
        if folds is None and name != "mae":
            raise InputError(
                f"{name} has no value for a segment alone",
                location="--bayes",
                remedy="give --bayes-folds, or use mae",
            )
        sign = 1.0 if metric.higher_is_better else -1.0
        for a, b in combinations(predictions, 2):
            sides = predictions[a], predictions[b]
            if folds is None:
                own, other = (_by_unit(np.abs(side - gold), levels.single) for side in sides)
                test, unit = "Bayesian signed-rank test", levels.reach.unit
                why = levels.reach.shortfall(LEVEL)
                posterior = Posterior(*[float("nan")] * 3)
                if not why:
                    posterior = signed_rank(sign * (own - other), rope, samples=samples, seed=seed)
            else:
                own, other = (_by_fold(name, gold, side, folds) for side in sides)
                test, unit, why = "Bayesian correlated t test", "fold", ""
                posterior = correlated_t(sign * (own - other), rope)
            shares = posterior.above, posterior.within, posterior.below
            comparisons.append(BayesianComparison(a, b, name, rope, *shares, test, unit, why))
    return comparisons


def _by_unit(errors: FloatArray, groups: Groups | None) -> FloatArray:
    if groups is None:
        return errors
    index, count = group_index(groups, len(errors))
    return np.asarray(np.bincount(index, errors, count) / np.bincount(index, minlength=count))


def _check_whole(folds: Groups, levels: Levels) -> None:
    if levels.single is None:
        return
    fold_of: dict[Any, Any] = {}
    for group, fold in zip(levels.single, folds, strict=True):
        if fold_of.setdefault(group, fold) != fold:
            raise InputError(
                f"group '{group}' is in the folds '{fold_of[group]}' and '{fold}'",
                location="--bayes-folds",
                remedy="the test needs folds of whole groups",
            )


def _by_fold(name: str, gold: FloatArray, predicted: FloatArray, folds: Groups) -> FloatArray:
    index, count = group_index(folds, len(gold))
    metric = METRICS.get(name)()
    scores = np.array([metric.score(gold[index == k], predicted[index == k]) for k in range(count)])
    if np.isnan(scores).any():
        raise InputError(
            f"{name} is undefined in fold {int(np.isnan(scores).argmax()) + 1}", location="--bayes-folds"
        )
    return scores


def bayesian_lines(comparisons: Sequence[BayesianComparison]) -> list[str]:
    return [
        f"{c.test} of {c.unit}s, {title_of(c.metric)} within {c.rope:g}: "
        + (
            f"{c.system} against {c.baseline} cannot be decided: {c.undecided}"
            if c.undecided
            else f"P({c.system} better than {c.baseline}) = {number(c.better)},"
            f" P(equal) = {number(c.equal)}, P(worse) = {number(c.worse)}"
        )
        for c in comparisons
    ]
