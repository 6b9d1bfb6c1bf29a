"""Bayesian comparison of two systems: the probability that one is better, or neither.

Source: Benavoli, Corani, Demšar and Zaffalon 2017 (Time for a change); as in their package baycomp.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError

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
