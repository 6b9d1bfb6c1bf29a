"""Bayesian comparison of systems, by fold or by segment: better, practically equal, or worse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.display.numbers import number
from qe.display.summary import Record
from qe.statistics.draws import Groups, Levels, group_index
from qe.statistics.metric import METRICS, title_of
from qe.statistics.settings import LEVEL

_BLOCK = 1 << 22  # weights held at a time


@dataclass(frozen=True)
class Posterior:
    """Probabilities that the difference is below, within and above the region."""

    below: float
    within: float
    above: float


def correlated_t(differences: FloatArray, rope: float, runs: int = 1) -> Posterior:
    """The Bayesian correlated t test for scores of cross-validation.

    The correlation is that of Nadeau and Bengio 2003: 1 / folds. Raises InputError for fewer than 2 folds.

    Parameters
    ----------
    differences : array of float
        (folds x runs,) one per fold; folds share training data, which the test allows for.
    rope : float
        Half the width of the region, 0 or more.
    """
    n = len(differences)
    folds = n / runs
    if folds < 2 or n % runs:
        raise InputError(f"the correlated t test needs 2 folds or more in each run, but got {n} in {runs}")
    mean, variance = float(np.mean(differences)), float(np.var(differences, ddof=1))
    scale = np.sqrt(variance * (1 / n + 1 / (folds - 1)))
    if scale == 0:
        if rope == 0:
            above = float(mean > 0) + 0.5 * float(mean == 0)
            return Posterior(1 - above, 0.0, above)
        return Posterior(float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
    posterior = stats.t(n - 1, mean, scale)
    below, above = float(posterior.cdf(-rope)), float(posterior.sf(rope))
    return Posterior(below, max(0.0, 1 - below - above), above)


def signed_rank(
    differences: FloatArray, rope: float, *, samples: int = 20_000, seed: int = 0, prior: float = 0.5
) -> Posterior:
    """The Bayesian signed-rank test: the share of posterior draws each region wins.

    Each draw weighs the differences (a Dirichlet process) and takes how often the mean of two of them is in
    each region. Raises InputError for a region of no width.

    Parameters
    ----------
    differences : array of float
        (n,) independent ones, one per segment.
    rope : float
        Half the width of the region, above 0.
    prior : float, default=0.5
        Strength of the prior, which is at a difference of 0.
    """
    if not rope > 0:
        raise InputError(f"the region of practical equivalence must be wider than 0, but got {rope}")
    values = np.append(differences, 0.0)
    order = np.argsort(values, kind="stable")
    strengths = np.append(np.ones(len(differences)), prior)[order]
    values = values[order]
    rng, counts, done = np.random.default_rng(seed), np.zeros(3), 0
    block = max(1, _BLOCK // len(values))
    while done < samples:
        drawn = min(block, samples - done)
        weights = rng.dirichlet(strengths, drawn)
        sums = np.concatenate([np.zeros((drawn, 1)), np.cumsum(weights, axis=1)], axis=1)
        below = _share(weights, sums, values, -2 * rope)
        above = _share(weights, 1 - sums[:, ::-1], -values[::-1], -2 * rope, reverse=True)
        regions = np.stack([below, 1 - below - above, above], axis=1)
        counts += np.bincount(regions.argmax(axis=1), minlength=3)
        done += drawn
    return Posterior(*(float(count) / samples for count in counts))


def _share(
    weights: FloatArray, sums: FloatArray, values: FloatArray, limit: float, reverse: bool = False
) -> FloatArray:
    ordered = weights[:, ::-1] if reverse else weights
    first = np.searchsorted(values, limit - values, side="left")
    last = np.searchsorted(values, limit - values, side="right")
    return np.asarray((ordered * (sums[:, first] + sums[:, last]) / 2).sum(axis=1))


@dataclass(frozen=True)
class BayesianComparison(Record):
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
    undecided: str | None = None


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
            comparisons.append(BayesianComparison(a, b, name, rope, *shares, test, unit, why or None))
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
