"""Metrics of rankings: DeltaAvg, Spearman, Pearson, Kendall, ranking accuracy."""

from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, IntArray
from qe.statistics.draws import CountArray
from qe.statistics.metric import METRICS, AdditiveMetric, ExchangedMetric, RankedMetric, finite_pair


def tie_groups(values: FloatArray) -> tuple[IntArray, int]:
    """(n,) the group of each value, in rising order, and the number of groups; equal values share one."""
    distinct, groups = np.unique(values, return_inverse=True)
    return groups.astype(np.int64), len(distinct)


@METRICS.register("spearman")
class Spearman(RankedMetric):
    """Pearson correlation of average ranks, -1 .. 1; NaN if gold or predictions are constant.

    >>> Spearman().score(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    0.8
    """

    title = "Spearman"
    help = "correlation of ranks, -1 to 1"
    interval_scale = "fisher"

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: CountArray) -> FloatArray:
        scores = np.empty(len(counts))
        _spearman(*tie_groups(gold), *tie_groups(predicted), counts, scores)
        return scores


@METRICS.register("ranking_accuracy")
class RankingAccuracy(RankedMetric):
    """rAcc[2]: share of elements ranked into their true half, 0 .. 1; .5 for a guess.

    The better half holds n // 2 elements; equal values at the border belong to it in part, so that the score
    is the expected one if ties are broken at random. NaN for fewer than 2 elements. Source: Soricut and
    Narsale 2012, section 3.3.

    >>> RankingAccuracy().score(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]))
    0.5
    """

    title = "rAcc[2]"
    help = "share that is put into its true half"

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: CountArray) -> FloatArray:
        true, predicted_half = _better_half(gold, counts), _better_half(predicted, counts)
        agreed = (counts * (true * predicted_half + (1.0 - true) * (1.0 - predicted_half))).sum(axis=1)
        total = counts.sum(axis=1)
        return np.where(total < 2, np.nan, agreed / np.maximum(total, 1))


def _better_half(values: FloatArray, counts: CountArray) -> FloatArray:
    groups, count = tie_groups(values)
    sizes = np.zeros((count, len(counts)))
    np.add.at(sizes, groups, counts.T)
    sizes = sizes.T
    above = sizes[:, ::-1].cumsum(axis=1)[:, ::-1] - sizes
    room = counts.sum(axis=1)[:, None] // 2 - above
    shares: FloatArray = np.clip(room / np.maximum(sizes, 1.0), 0.0, 1.0)[:, groups]
    return shares


@numba.njit(cache=True, nogil=True)
def _average_ranks(groups: Any, sizes: Any, counts: Any) -> None:
    sizes[:] = 0.0
    for i in range(len(groups)):
        sizes[groups[i]] += counts[i]
    below = 0.0
    for g in range(len(sizes)):
        size = sizes[g]
        sizes[g] = below + (size + 1.0) / 2.0
        below += size


@numba.njit(cache=True, nogil=True)
def _spearman(
    gold: Any, gold_groups: int, predicted: Any, predicted_groups: int, counts: Any, scores: Any
) -> None:
    gold_ranks, predicted_ranks = np.empty(gold_groups), np.empty(predicted_groups)
    for b in range(len(counts)):
        _average_ranks(gold, gold_ranks, counts[b])
        _average_ranks(predicted, predicted_ranks, counts[b])
        total = 0
        for i in range(len(gold)):
            total += counts[b, i]
        middle = (total + 1) / 2.0
        xx, yy, xy = 0.0, 0.0, 0.0
        for i in range(len(gold)):
            x, y = gold_ranks[gold[i]] - middle, predicted_ranks[predicted[i]] - middle
            xx += counts[b, i] * x * x
            yy += counts[b, i] * y * y
            xy += counts[b, i] * x * y
        # Ranks are multiples of 1/2, so that a constant side gives exactly 0.
        scores[b] = xy / np.sqrt(xx * yy) if xx > 0.0 and yy > 0.0 else np.nan


@METRICS.register("kendall")
class Kendall(RankedMetric):
    """Kendall's tau-b, -1 .. 1, which corrects for ties; NaN if gold or predictions are constant.

    (concordant - discordant) / sqrt(pairs untied in gold x pairs untied in predictions).

    >>> round(Kendall().score(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 6)
    0.666667
    """

    title = "Kendall"
    help = "agreement on pairs of segments (tau-b), -1 to 1"
    interval_scale = "fisher"

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        gold_groups, _ = tie_groups(gold)
        predicted_groups, size = tie_groups(predicted)
        order = np.argsort(gold_groups, kind="stable")
        scores = np.empty(len(counts))
        _kendall(gold_groups[order], predicted_groups[order], size, order, counts, scores)
        return scores


@numba.njit(cache=True, nogil=True)
def _below(tree: Any, group: int) -> int:
    total = 0
    while group > 0:
        total += tree[group]
        group -= group & -group
    return total


@numba.njit(cache=True, nogil=True)
def _insert(tree: Any, group: int, count: int) -> None:
    group += 1
    while group < len(tree):
        tree[group] += count
        group += group & -group


@numba.njit(cache=True, nogil=True)
def _balance(gold: Any, predicted: Any, counts: Any, tree: Any) -> tuple[int, int]:
    tree[:] = 0
    balance, gold_ties, inserted, i, n = 0, 0, 0, 0, len(gold)
    while i < n:
        start, size = i, 0
        while i < n and gold[i] == gold[start]:
            if counts[i] > 0:
                below = _below(tree, predicted[i])
                above = inserted - _below(tree, predicted[i] + 1)
                balance += counts[i] * (below - above)
                size += counts[i]
            i += 1
        for j in range(start, i):
            if counts[j] > 0:
                _insert(tree, predicted[j], counts[j])
        gold_ties += size * (size - 1) // 2
        inserted += size
    return balance, gold_ties


@numba.njit(cache=True, nogil=True)
def _kendall(gold: Any, predicted: Any, groups: int, order: Any, counts: Any, scores: Any) -> None:
    tree, sizes = np.zeros(groups + 1, np.int64), np.zeros(groups, np.int64)
    drawn = np.zeros(len(gold), np.int64)
    for b in range(len(counts)):
        sizes[:] = 0
        total = 0
        for i in range(len(gold)):
            drawn[i] = counts[b, order[i]]
            sizes[predicted[i]] += drawn[i]
            total += drawn[i]
        balance, gold_ties = _balance(gold, predicted, drawn, tree)
        pairs = total * (total - 1) // 2
        ties = 0
        for g in range(groups):
            ties += sizes[g] * (sizes[g] - 1) // 2
        untied = float(pairs - gold_ties) * float(pairs - ties)
        scores[b] = balance / np.sqrt(untied) if untied > 0.0 else np.nan


# A resample whose variance is below this share of the whole sample's counts as constant (rounding noise).
_NO_VARIANCE = 1e-12
_MAX_RATIO = 1e150  # of the full range to that of the middle values: squares of larger values overflow


@METRICS.register("pearson")
class Pearson(AdditiveMetric, ExchangedMetric):
    """Linear correlation of gold and predictions, -1 .. 1; NaN if one of them is constant.

    Exchanges measure the difference in units of its standard error, after DiCiccio and Romano 2017: tests of
    the plain difference reject too often where labels have heavy tails.

    >>> Pearson().score(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    1.0
    """

    title = "Pearson"
    help = "linear correlation, -1 to 1"
    kind = "ranking"
    higher_is_better = True
    interval_scale = "fisher"
    exchange_name: ClassVar[str] = "approximate randomization, studentised"

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 6): 1, x, y, xx, yy, xy of standardised gold x and predictions y."""
        x, y = (_standardised(side) for side in finite_pair(gold, predicted))
        return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        n, x, y, xx, yy, xy = np.moveaxis(np.asarray(sums), -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            x_variance, y_variance = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
            defined = (x_variance > _NO_VARIANCE) & (y_variance > _NO_VARIANCE)
            correlation = (xy / n - x * y / n**2) / np.sqrt(x_variance * y_variance)
        return np.where(defined, np.clip(correlation, -1.0, 1.0), np.nan)

    def on_common_scale(self, predicted: FloatArray) -> FloatArray:
        """Predictions with median 0 and a 10th to 90th percentile range of 1."""
        low, middle, high = np.quantile(predicted, [0.1, 0.5, 0.9])
        full = np.ptp(predicted)
        spread = high - low if full < _MAX_RATIO * (high - low) else full
        return np.asarray((predicted - middle) / (spread if spread > 0 else 1.0))

    def exchanged(
        self, gold: FloatArray, system: FloatArray, baseline: FloatArray, swapped: NDArray[np.bool_]
    ) -> FloatArray:
        """(B,) differences over their standard errors, from the correlations' influence functions."""
        differences = np.empty(swapped.shape[1])
        _studentised(_standardised(gold), system, baseline, swapped, differences)
        return differences


def _standardised(values: FloatArray) -> FloatArray:
    if len(values) == 0 or values.min() == values.max():
        return np.zeros_like(values)
    centred = values - values.mean()
    scaled = centred / np.abs(centred).max()  # squares of tiny values would underflow
    return np.asarray(scaled / np.sqrt(np.mean(scaled**2)))


@numba.njit(cache=True, nogil=True)
def _studentised(x: Any, system: Any, baseline: Any, swapped: Any, differences: Any) -> None:
    n, samples = swapped.shape
    sums = np.zeros((6, samples))
    for i in range(n):
        a, b, row = system[i], baseline[i], swapped[i]
        for s in range(samples):
            p, q = (b, a) if row[s] else (a, b)
            sums[0, s] += p
            sums[1, s] += q
            sums[2, s] += p * p
            sums[3, s] += q * q
            sums[4, s] += x[i] * p
            sums[5, s] += x[i] * q
    xx = (x * x).mean()
    for s in range(samples):
        for side in range(2):
            sums[side, s] /= n
            variance = sums[2 + side, s] / n - sums[side, s] ** 2
            defined = variance > 1e-12 * (sums[2 + side, s] / n) and xx > 0.0
            sums[2 + side, s] = 1.0 / np.sqrt(variance) if defined else np.nan
            sums[4 + side, s] *= sums[2 + side, s] / n
    influence, squares = np.zeros(samples), np.zeros(samples)
    for i in range(n):
        a, b, row = system[i], baseline[i], swapped[i]
        for s in range(samples):
            p, q = (b, a) if row[s] else (a, b)
            y, z = (p - sums[0, s]) * sums[2, s], (q - sums[1, s]) * sums[3, s]
            r, t = sums[4, s], sums[5, s]
            value = x[i] * (y - z) - (r * (x[i] * x[i] + y * y) - t * (x[i] * x[i] + z * z)) / 2.0
            influence[s] += value
            squares[s] += value * value
    for s in range(samples):
        difference = sums[4, s] - sums[5, s]
        variance = squares[s] / n - (influence[s] / n) ** 2
        differences[s] = difference / np.sqrt(max(variance, 1e-30) / n)


@METRICS.register("delta_avg")
class DeltaAvg(RankedMetric):
    """Mean gold label of the top quantiles minus the overall mean, in label units.

    NaN for fewer than 4 segments. Segments with equal predictions count with the expected value over all
    their orders, so that a constant prediction scores 0; the 2012 scorer took the order from the submitted
    ranks (`qe.evaluation.official_scorer`). Source: Callison-Burch et al. 2012, section 6.2.

    >>> gold = np.array([2.0, 2.8, 3.0, 3.2])
    >>> round(DeltaAvg().score(gold, gold), 6)
    0.35
    """

    title = "DeltaAvg"
    help = "gain in label units of the segments ranked first over all segments"

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        order, groups = _best_first(predicted)
        scores = np.empty(len(counts))
        _delta_avg(gold[order], groups, order, counts, scores)
        return scores


def delta_avg_by_n(gold: FloatArray, predicted: FloatArray) -> FloatArray:
    """DeltaAvg[n] for n = 2 .. floor(N/2) quantiles: (floor(N/2) - 1,), empty for fewer than 4 segments.

    Source: Callison-Burch et al. 2012, equation 14; the last quantile holds the rest.
    """
    gold, predicted = finite_pair(gold, predicted)
    order, groups = _best_first(predicted)
    expected = np.bincount(groups, gold[order]) / np.bincount(groups) if len(gold) else gold
    return _by_quantiles(expected[groups]) if len(gold) >= 4 else np.empty(0)


def _best_first(predicted: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    groups, _ = tie_groups(-predicted)
    order = np.argsort(groups, kind="stable")
    return order, groups[order]


@numba.njit(cache=True, nogil=True)
def _by_quantiles(ranked: Any) -> Any:
    total = len(ranked)
    sums = np.empty(total + 1)
    sums[0] = 0.0
    for i in range(total):
        sums[i + 1] = sums[i] + ranked[i]
    mean = sums[total] / total
    result = np.empty(total // 2 - 1)
    n = 2
    while n <= total // 2:
        q = total // n
        last = min(total // q, total // 2)
        head_means = 0.0
        for k in range(1, last):
            head_means += sums[k * q] / (k * q)
            if k + 1 >= n:
                result[k - 1] = head_means / k - mean
        n = last + 1
    return result


@numba.njit(cache=True, nogil=True)
def _cumulative_weights(total: int) -> Any:
    half = total // 2
    harmonic = np.zeros(half + 1)
    for n in range(1, half + 1):
        harmonic[n] = harmonic[n - 1] + 1.0 / n
    head = np.zeros(total + 1)
    n = 2
    while n <= half:
        q = total // n
        last = min(total // q, half)
        for k in range(1, last):
            share = harmonic[last - 1] - harmonic[max(n, k + 1) - 2]
            head[k * q] += share / (k * q * (half - 1))
        n = last + 1
    weights = np.zeros(total + 1)
    running = head.sum()
    for i in range(total):
        running -= head[i]
        weights[i + 1] = weights[i] + running
    return weights


@numba.njit(cache=True, nogil=True)
def _delta_avg(gold: Any, groups: Any, order: Any, counts: Any, scores: Any) -> None:
    weights = np.zeros(1)
    for b in range(len(counts)):
        total = 0
        for i in range(counts.shape[1]):
            total += counts[b, i]
        if total < 4:
            scores[b] = np.nan
            continue
        if len(weights) != total + 1:
            weights = _cumulative_weights(total)
        scores[b] = _weighted(gold, groups, order, counts[b], total, weights)


@numba.njit(cache=True, nogil=True)
def _weighted(gold: Any, groups: Any, order: Any, counts: Any, total: int, weights: Any) -> float:
    score, whole = 0.0, 0.0
    position, i, n = 0, 0, len(gold)
    while i < n:
        group, size, labels = groups[i], 0, 0.0
        while i < n and groups[i] == group:
            drawn = counts[order[i]]
            size += drawn
            labels += drawn * gold[i]
            i += 1
        if size == total:
            return 0.0
        if size > 0:
            score += labels * (weights[position + size] - weights[position]) / size
            whole += labels
            position += size
    return score - whole / total
