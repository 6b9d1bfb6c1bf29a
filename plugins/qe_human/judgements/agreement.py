"""Agreement between judges, and of judges with themselves: kappa over pairwise comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.bootstrap import bootstrap_scores
from qe.statistics.intervals import percentile_interval
from qe_human.judgements.comparisons import Comparisons

Interval = tuple[float, float]


@dataclass(frozen=True)
class Kappa:
    """How far pairs of judgements of the same two translations agree.

    pairs     how many pairs of judgements there are
    observed  P(A), the share that agree on better, equal or worse
    chance    P(E) = P(<)^2 + P(=)^2 + P(>)^2 over all judgements
    kappa     (P(A) - P(E)) / (1 - P(E)); NaN without pairs
    ci        its 95 % bootstrap interval over segments; NaN if a sample had no pairs
    """

    pairs: int
    observed: float
    chance: float
    kappa: float
    ci: Interval


@dataclass(frozen=True)
class Agreement:
    """between: different judges; within: the same judge again."""

    between: Kappa
    within: Kappa


# Columns of the statistics per segment.
_BETWEEN, _WITHIN, _TIES, _ALL = slice(0, 2), slice(2, 4), 4, 5


def agreement(judged: Sequence[Comparisons], samples: int = 1000, seed: int = 0) -> Agreement:
    """Agreement over one or several language pairs (findings of WMT 2012, 3.2 and Table 3).

    samples  of the bootstrap; without any, intervals are NaN

    A pair of systems has no order, so P(<) and P(>) are equal: half of what P(=) leaves.
    """
    statistics = np.concatenate([_statistics(one) for one in judged])
    sums = statistics.sum(axis=0)
    scores = np.full((1, 2), np.nan)
    if samples > 0:
        scores = bootstrap_scores(statistics, _kappas, samples=samples, seed=seed)[0]
    return Agreement(*(_kappa(sums, column, scores[:, i]) for i, column in enumerate((_BETWEEN, _WITHIN))))


def _kappa(sums: FloatArray, column: slice, resampled: FloatArray) -> Kappa:
    observed, chance = (float(x) for x in _shares(sums, column))
    kappa = float(_kappas(sums)[0 if column is _BETWEEN else 1])
    return Kappa(int(sums[column][1]), observed, chance, kappa, percentile_interval(resampled))


def _kappas(sums: FloatArray) -> FloatArray:
    both = []
    for column in (_BETWEEN, _WITHIN):
        observed, chance = _shares(sums, column)
        with np.errstate(invalid="ignore", divide="ignore"):
            both.append((observed - chance) / (1 - chance))
    return np.stack(both, axis=-1)


def _shares(sums: FloatArray, column: slice) -> tuple[FloatArray, FloatArray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = sums[..., column][..., 0] / sums[..., column][..., 1]
        ties = sums[..., _TIES] / sums[..., _ALL]
    return observed, ties**2 + (1 - ties) ** 2 / 2


def _statistics(judged: Comparisons) -> FloatArray:
    segments, segment = np.unique(judged.segment[judged.task], return_inverse=True)
    n, k = len(segments), len(judged.systems)
    item = (segment * k + judged.first_item) * k + judged.right
    judge, outcome = judged.judge[judged.task], judged.outcome.astype(np.int64) + 1
    own_item = item * (int(judge.max(initial=0)) + 1) + judge
    everybody = _pairs(item, segment, n), _pairs(item * 3 + outcome, segment, n)
    own = _pairs(own_item, segment, n), _pairs(own_item * 3 + outcome, segment, n)
    ties = np.bincount(segment, outcome == 1, n)
    total = np.bincount(segment, minlength=n)
    columns = (everybody[1] - own[1], everybody[0] - own[0], own[1], own[0], ties, total)
    return np.column_stack(columns).astype(np.float64)


def _pairs(keys: NDArray[np.int64], segment: NDArray[np.int64], segments: int) -> FloatArray:
    _, first, sizes = np.unique(keys, return_index=True, return_counts=True)
    return np.asarray(np.bincount(segment[first], sizes * (sizes - 1) / 2, segments), np.float64)
