"""Ranks: clusters of systems that tests separate, and intervals of ranks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.result import LEVEL

T = TypeVar("T")


def clusters(
    order: Sequence[str], p_values: Mapping[tuple[str, str], float], level: float = 0.05
) -> list[list[str]]:
    """Groups of systems, best first, of which a test at `level` tells all pairs apart (as at WMT).

    >>> clusters(["a", "b", "c"], {("a", "b"): 0.3, ("a", "c"): 0.01, ("b", "c"): 0.02})
    [['a', 'b'], ['c']]
    """

    def differ(a: str, b: str) -> bool:
        return (p_values[a, b] if (a, b) in p_values else p_values[b, a]) <= level

    return separated(order, differ)


def separated(order: Sequence[T], differ: Callable[[T, T], bool]) -> list[list[T]]:
    """Groups of systems, best first: a cut lies where every pair across it differs."""
    groups: list[list[T]] = []
    current: list[T] = []
    for position, system in enumerate(order):
        current.append(system)
        above, below = order[: position + 1], order[position + 1 :]
        if all(differ(a, b) for a in above for b in below):
            groups.append(current)
            current = []
    return groups


@dataclass(frozen=True)
class RankInterval:
    """Ranks of one system by one metric, 1 is best.

    Attributes
    ----------
    simultaneous : pair of int and int
        Best and worst rank that the corrected pairwise tests leave open: with probability 1 - level those
        of all systems hold at once.
    bootstrap : pair of int and int or None
        Best and worst rank in the central share of bootstrap samples, of this system by itself; None if
        nothing was drawn or a score is undefined.
    """

    simultaneous: tuple[int, int]
    bootstrap: tuple[int, int] | None

    def __str__(self) -> str:
        return _span(self.simultaneous) + ("" if self.bootstrap is None else f" ({_span(self.bootstrap)})")


def rank_intervals(
    systems: Sequence[str],
    gains: Mapping[tuple[str, str], tuple[float, float]],
    virtual_scores: Mapping[str, FloatArray],
    level: float = LEVEL,
) -> dict[str, RankInterval]:
    """Both kinds of intervals by one metric.

    A system ranks below those that were shown to be better, and above those that were shown to be worse.
    Sources: Mohamad, Goeman and van Zwet 2022 (simultaneous intervals); Callison-Burch et al. 2012.

    Parameters
    ----------
    gains : mapping of pair of str and str to pair of float and float
        Each pair of systems, in one order -> gain of the first over the second (positive: better), and
        the corrected p-value of their difference; NaN shows no difference.
    virtual_scores : mapping of str to array of float
        System -> (samples,) bootstrap scores, higher is better; empty: none.

    Examples
    --------
    >>> intervals = rank_intervals(["a", "b", "c"], {("a", "b"): (1.0, 0.3), ("a", "c"): (2.0, 0.01),
    ...                                              ("b", "c"): (1.0, 0.2)}, {})
    >>> [str(intervals[name]) for name in "abc"]
    ['1-2', '1-3', '2-3']
    """
    better, worse = dict.fromkeys(systems, 0), dict.fromkeys(systems, 0)
    for (a, b), (gain, p) in gains.items():
        if p <= level and gain != 0:
            winner, loser = (a, b) if gain > 0 else (b, a)
            better[loser] += 1
            worse[winner] += 1
    ranges = _bootstrap_ranks(virtual_scores, level) if virtual_scores else {}
    return {
        name: RankInterval((1 + better[name], len(systems) - worse[name]), ranges.get(name))
        for name in systems
    }


def _bootstrap_ranks(virtual_scores: Mapping[str, FloatArray], level: float) -> dict[str, tuple[int, int]]:
    scores = np.stack(list(virtual_scores.values()))
    if np.isnan(scores).any():
        return {}
    intervals = {}
    for name, own in zip(virtual_scores, scores, strict=True):
        best, worst = 1 + (scores > own).sum(axis=0), (scores >= own).sum(axis=0)
        low = np.quantile(best, level / 2, method="lower")
        high = np.quantile(worst, 1 - level / 2, method="higher")
        intervals[name] = (int(low), int(high))
    return intervals


def _span(ranks: tuple[int, int]) -> str:
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}-{ranks[1]}"
