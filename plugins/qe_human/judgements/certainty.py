"""How sure a ranking is: sign tests, bootstrap rank ranges, agreement of judges, power."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import bdtr

from features.basics.array_types import FloatArray, IntArray
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from qe.statistics.draws import bootstrap_counts
from qe.statistics.family import correct
from qe.statistics.intervals import percentile_interval
from qe.statistics.ranks import separated
from qe.statistics.resampling import bootstrap_scores
from qe.statistics.settings import check_samples
from qe_human.judgements.collection import Comparisons, tables
from qe_human.ranking_method import RankingMethod
from qe_human.settings import Draw

STARS = ((0.01, "‡"), (0.05, "†"), (0.10, "*"))  # as in the appendix of the findings of WMT 2012


def sign_tests(wins: ArrayLike) -> FloatArray:
    """Two-sided p-values (..., k, k) of the exact binomial test, ties left out; symmetric.

    wins  (..., k, k): [a, b] is how often a was judged better than b

    1 for a pair that was never decided; NaN on the diagonal.
    """
    won = np.asarray(wins).astype(np.int64)
    lost = np.swapaxes(won, -1, -2)
    p = np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(won, lost).astype(np.float64), won + lost, 0.5)))
    p[..., np.eye(p.shape[-1], dtype=bool)] = np.nan
    return p


def corrected(p_values: FloatArray, method: str = "holm") -> FloatArray:
    """(k, k) p-values corrected for all pairs; symmetric, NaN on the diagonal."""
    above = np.triu_indices(len(p_values), 1)
    result = np.full(p_values.shape, np.nan)
    result[above] = correct(p_values[above], method)
    result.T[above] = result[above]
    return result


def winners(wins: ArrayLike, p_values: FloatArray, level: float = 0.10) -> NDArray[np.bool_]:
    """Whether no other system is significantly better (k,) at p <= level (findings of WMT 2012, Table 4)."""
    won = np.asarray(wins)
    beaten = (won < won.T) & (p_values <= level)
    return np.asarray(~beaten.any(axis=1))


def tested_ranks(wins: ArrayLike, p_values: FloatArray, level: float = 0.10) -> IntArray:
    """Lowest and highest rank (k, 2) of each system that the tests leave open, 1 for the best.

    A system ranks below those significantly better, and above those significantly worse.

    >>> p = np.array([[np.nan, 0.01], [0.01, np.nan]])
    >>> tested_ranks([[0, 9], [1, 0]], p).tolist(), tested_ranks([[0, 9], [1, 0]], p, 0.001).tolist()
    ([[1, 1], [2, 2]], [[1, 2], [1, 2]])
    """
    won = np.asarray(wins)
    better = (won > won.T) & (p_values <= level)
    return np.stack([1 + better.sum(axis=0), len(won) - better.sum(axis=1)], axis=-1)


def stars(p: float) -> str:
    """* for p <= .10, † for p <= .05, ‡ for p <= .01, otherwise nothing."""
    return next((mark for level, mark in STARS if p <= level), "")


def stars_legend(mark: str) -> str:
    """What a mark of `stars` means, for the foot of a table; empty for no mark.

    >>> stars_legend("†")
    '†: p <= .05 (sign test)'
    """
    return next(
        (f"{mark}: p <= {level:.2f} (sign test)".replace("0.", ".") for level, own in STARS if own == mark),
        "",
    )


_BLOCK_BYTES = 1 << 25  # of counts that one thread holds


def resampled_tables(
    judged: Comparisons, samples: int = 1000, seed: int = 0, progress: Progress = silent, draw: Draw = "tasks"
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Blocks of (b, k, k) wins and ties of tasks resampled with replacement, `samples` in all.

    draw  tasks, or as many segments or judges as there are, each with all its tasks

    Equal for one seed with any number of threads. Raises InputError for fewer than one sample.
    """
    check_samples(samples)
    k = len(judged.systems)
    counts = sparse.csr_array(
        (np.ones(len(judged.task), np.int64), (judged.task, judged.cells)), shape=(judged.tasks, 2 * k * k)
    )  # how often each task adds to each cell
    block = max(1, min(64, _BLOCK_BYTES // (4 * judged.tasks + 16 * k * k)))
    firsts = range(0, samples, block)
    codes = judged.segment if draw == "segments" else judged.judge
    if draw == "tasks":
        codes = np.arange(judged.tasks, dtype=np.int32)
    units, of_task = np.unique(codes, return_inverse=True)

    def tables_of(first: int) -> NDArray[np.int64]:
        last = min(first + block, samples)
        return np.asarray((counts.T @ bootstrap_counts(len(units), seed, first, last)[:, of_task].T).T)

    for first, flat in zip(firsts, side_by_side(tables_of, firsts), strict=True):
        progress("bootstrap", first, samples)
        wins, ties = tables(flat, k)
        yield wins.astype(np.float64), ties.astype(np.float64)


def resampled_ranks(
    judged: Comparisons,
    methods: Mapping[str, RankingMethod],
    systems: Mapping[str, Sequence[int]],
    *,
    samples: int = 1000,
    seed: int = 0,
    draw: Draw = "tasks",
    progress: Progress = silent,
) -> dict[str, IntArray]:
    """Method -> ranks (samples, k), 1 for the best, of the systems whose indices `systems` gives."""
    ranks: dict[str, list[IntArray]] = {name: [] for name in methods}
    for wins, ties in resampled_tables(judged, samples, seed, progress, draw):
        for name, method in methods.items():
            own = np.ix_(range(len(wins)), systems[name], systems[name])
            ranks[name].append(method.ranks(wins[own], ties[own]))
    return {name: np.concatenate(blocks) for name, blocks in ranks.items()}


def rank_ranges(ranks: IntArray, confidence: float = 0.95) -> IntArray:
    """Lowest and highest rank (k, 2) of (samples, k) ranks without the extremes.

    The dropped samples are (1 - confidence) of all, rounded down on each side.
    """
    ordered = np.sort(ranks, axis=0)
    # The share is rounded first: 1 - .95 is a little more than .05.
    dropped = int(len(ranks) * round((1 - confidence) / 2, 12))
    return np.stack([ordered[dropped], ordered[len(ranks) - 1 - dropped]], axis=-1)


def clusters(order: Sequence[int] | IntArray, ranges: IntArray) -> list[list[int]]:
    """Groups of systems that are not significantly different, best first.

    order   indices of the systems, best first
    ranges  (k, 2) rank range of each system by its index

    A cut is where no rank range reaches across: all systems above have better ranges than all below (the
    convention of the WMT shared tasks from 2013 on).
    """
    return separated([int(i) for i in order], lambda a, b: bool(ranges[a][1] < ranges[b][0]))


Interval = tuple[float, float]


@dataclass(frozen=True)
class Kappa:
    """Agreement of pairs of judgements of the same two translations.

    pairs     number of pairs of judgements
    observed  P(A), the share that agree on better, equal or worse
    chance    P(E) = P(<)^2 + P(=)^2 + P(>)^2 over all judgements
    kappa     (P(A) - P(E)) / (1 - P(E)); NaN without pairs
    ci        95 % bootstrap interval over segments; NaN if a sample had no pairs
    """

    pairs: int
    observed: float
    chance: float
    kappa: float
    ci: Interval


# Columns of the statistics per segment.
_BETWEEN, _WITHIN, _TIES, _ALL = slice(0, 2), slice(2, 4), 4, 5


def agreement(judged: Sequence[Comparisons], samples: int = 1000, seed: int = 0) -> dict[str, Kappa]:
    """Agreement `between` different judges, and `within` the same judge, over all given language pairs.

    samples  of the bootstrap; 0: intervals are NaN

    A pair of systems has no order, so P(<) and P(>) are equal. Source: findings of WMT 2012, 3.2 and Table 3.
    """
    statistics = np.concatenate([_statistics(one) for one in judged])
    sums = statistics.sum(axis=0)
    scores = np.full((1, 2), np.nan)
    if samples > 0:
        scores = bootstrap_scores(statistics, _kappas, samples=samples, seed=seed)[0]
    kappas = {}
    for i, (name, column) in enumerate((("between", _BETWEEN), ("within", _WITHIN))):
        observed, chance = (float(x) for x in _shares(sums, column))
        kappa, ci = float(_kappas(sums)[i]), percentile_interval(scores[:, i])
        kappas[name] = Kappa(int(sums[column][1]), observed, chance, kappa, ci)
    return kappas


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
    item = (segment * k + judged.first) * k + judged.second
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


LEVELS = (0.01, 0.05, 0.10)
FRACTIONS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))


@dataclass(frozen=True, eq=False)
class Power:
    """Shares of significant pairs in parts of the tasks (findings of WMT 2012, Figure 2).

    levels     (l,) levels of the sign test
    judgements (f,) mean number of judgements per pair of systems, ties included
    shares     (l, f, repeats) share of pairs significant at the level, uncorrected, in each drawn part
    """

    levels: tuple[float, ...]
    judgements: FloatArray
    shares: FloatArray


def power(
    judged: Comparisons,
    systems: Sequence[int],
    *,
    fractions: Sequence[float] = FRACTIONS,
    levels: Sequence[float] = LEVELS,
    repeats: int = 20,
    seed: int = 0,
) -> Power:
    """Test all pairs of systems on parts of the tasks, drawn without replacement, `repeats` times."""
    k = len(judged.systems)
    own = np.ix_(range(len(fractions)), systems, systems)
    above = np.triu_indices(len(systems), 1)
    limits = np.ceil(np.asarray(fractions) * judged.tasks).astype(np.int64)
    cells = judged.cells.astype(np.int64)
    counted, shares = [], []
    generator = np.random.default_rng(seed)
    for _ in range(repeats):
        places = generator.permutation(judged.tasks)[judged.task]
        part = np.searchsorted(limits, places, side="right")
        flat = np.bincount(part * (2 * k * k) + cells, minlength=len(limits) * 2 * k * k)
        wins, ties = tables(flat.reshape(len(limits), -1).cumsum(axis=0), k)
        wins, ties = wins[own], ties[own]
        counted.append((wins.sum(axis=(1, 2)) + ties.sum(axis=(1, 2)) / 2) / len(above[0]))
        p = sign_tests(wins)[:, above[0], above[1]]
        shares.append([(p <= level).mean(axis=1) for level in levels])
    return Power(tuple(levels), np.mean(counted, axis=0), np.moveaxis(np.array(shares), 0, -1))
