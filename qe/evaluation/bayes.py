"""Bayesian comparisons of QE systems, by fold or by segment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.bayesian import correlated_t, signed_rank
from qe.statistics.groups import Groups, group_index
from qe.statistics.metric import METRICS


@dataclass(frozen=True)
class BayesianComparison:
    """Probabilities that the system is better than the baseline, practically equal, or worse."""

    system: str
    baseline: str
    metric: str
    rope: float
    better: float
    equal: float
    worse: float
    test: str

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def bayesian_comparisons(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    ropes: Mapping[str, float],
    *,
    folds: Groups | None = None,
    samples: int = 20_000,
    seed: int = 0,
) -> list[BayesianComparison]:
    """All pairs of systems by every metric with a region of practical equivalence.

    gold, predictions  (n,) oriented: higher is better
    ropes              metric -> half the width of the region
    folds              (n,) the fold of cross-validation that each segment was predicted in: the metric is
                       computed by fold (correlated t test); none: by segment (signed-rank test), MAE alone

    Raises InputError for metrics that have no value per segment or are undefined in a fold.
    """
    comparisons = []
    for name, rope in ropes.items():
        metric = METRICS.get(name)()
        if folds is None and name != "mae":
            raise InputError(
                f"{name} has no value for a segment alone",
                where="--bayes",
                remedy="give --bayes-folds, or use mae",
            )
        sign = 1.0 if metric.higher_is_better else -1.0
        for a, b in combinations(predictions, 2):
            sides = predictions[a], predictions[b]
            if folds is None:
                own, other = (np.abs(side - gold) for side in sides)
                posterior = signed_rank(sign * (own - other), rope, samples=samples, seed=seed)
            else:
                own, other = (_by_fold(name, gold, side, folds) for side in sides)
                posterior = correlated_t(sign * (own - other), rope)
            test = "Bayesian " + ("signed-rank test" if folds is None else "correlated t test")
            comparisons.append(
                BayesianComparison(a, b, name, rope, posterior.above, posterior.within, posterior.below, test)
            )
    return comparisons


def _by_fold(name: str, gold: FloatArray, predicted: FloatArray, folds: Groups) -> FloatArray:
    index, count = group_index(folds, len(gold))
    metric = METRICS.get(name)()
    scores = np.array([metric.score(gold[index == k], predicted[index == k]) for k in range(count)])
    if np.isnan(scores).any():
        raise InputError(
            f"{name} is undefined in fold {int(np.isnan(scores).argmax()) + 1}", where="--bayes-folds"
        )
    return scores


def bayesian_lines(comparisons: Sequence[BayesianComparison]) -> list[str]:
    """A line per pair, for people."""
    return [
        f"{c.test}, {c.metric} within {c.rope:g}: P({c.system} better than {c.baseline}) = {c.better:.3f},"
        f" P(equal) = {c.equal:.3f}, P(worse) = {c.worse:.3f}"
        for c in comparisons
    ]
