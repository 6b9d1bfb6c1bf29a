"""Ranks and clusters of systems, and their equivalence within a margin."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.assignments import numbers
from features.basics.errors import InputError, known_name
from qe.statistics.draws import Levels
from qe.statistics.family import TOST, Equivalence, Key, Pair, Table, Verdict
from qe.statistics.intervals import exceeds
from qe.statistics.result import TestResult
from qe.statistics.settings import LEVEL, ResamplingSettings

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
    ranges: dict[str, tuple[int, int]] = {}
    scores = np.array(list(virtual_scores.values()))
    for name, own in () if np.isnan(scores).any() else zip(virtual_scores, scores, strict=True):
        best, worst = 1 + (scores > own).sum(axis=0), (scores >= own).sum(axis=0)
        low = np.quantile(best, level / 2, method="lower")
        high = np.quantile(worst, 1 - level / 2, method="higher")
        ranges[name] = (int(low), int(high))
    return {
        name: RankInterval((1 + better[name], len(systems) - worse[name]), ranges.get(name))
        for name in systems
    }


def _span(ranks: tuple[int, int]) -> str:
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}-{ranks[1]}"


def equivalences(
    pairs: Mapping[Key, Pair],
    jackknife: Callable[[Key], Sequence[FloatArray]],
    margins: Mapping[str, float],
    better: Mapping[str, bool | None],
    levels: Levels,
    settings: ResamplingSettings,
    alike: Mapping[str, str],
) -> list[Equivalence]:
    """Every comparison by a metric with a margin, corrected and answered as differences are.

    `jackknife` gives, for each kind of units, the (u,) differences with one unit left out.
    """
    reach, tested = levels.reach, {}
    for key, pair in pairs.items():
        if (margin := margins.get(pair.metric)) is not None:
            difference, higher = pair.result.difference, better[pair.metric]
            above, below = tost(difference, jackknife(key), margin, reach.min_p)
            worse = float("nan") if higher is None else above if higher else below
            tested[key] = Equivalence(*key, difference, margin, float(np.maximum(above, below)), worse)
    results = {
        key: TestResult(item.difference, item.p, TOST, reach.unit, 0, "two-sided", False, reach)
        for key, item in tested.items()
    }
    decidable, answers = not reach.shortfall(settings.level), []
    for key, item in Table.from_keys(list(tested), settings, alike=alike).corrected(results).items():
        different = pairs[key].p_corrected <= settings.level
        verdict = _verdict(different, item.p_corrected <= settings.level, bool(item.result.undecided))
        answers.append(
            replace(
                tested[key],
                p=item.result.p,
                p_corrected=item.p_corrected,
                p_noninferior=tested[key].p_noninferior if decidable else float("nan"),
                verdict=verdict,
                undecided=item.result.undecided,
            )
        )
    return answers


def tost(
    difference: float, jackknife: Sequence[FloatArray], margin: float, min_p: float = 0.0
) -> tuple[float, float]:
    """p-values of two t tests: difference above -margin, difference below +margin.

    NaN if a difference is undefined, or with one unit.

    Parameters
    ----------
    jackknife : sequence of array of float
        For each kind of units, (u,) differences with one unit left out.
    min_p : float, default=0.0
        P-value of what is certain: systems that never differ.
    """
    negated = [-differences for differences in jackknife]
    return exceeds(difference, jackknife, -margin, min_p), exceeds(-difference, negated, -margin, min_p)


def _verdict(different: bool, within: bool, undecided: bool) -> Verdict:
    if different:
        return "different, within the margin" if within else "different"
    if undecided:
        return "cannot be decided"
    return "equivalent" if within else "undecided"


def undecided_notes(pairs: Sequence[Equivalence]) -> list[str]:
    reasons = dict.fromkeys(pair.undecided for pair in pairs if pair.undecided)
    return [f"equivalence within a margin cannot be decided: {reason}" for reason in reasons]


def cluster_note(cluster: Sequence[str], pairs: Sequence[Equivalence], metric: str) -> str:
    inside = [p for p in pairs if p.metric == metric and {p.system, p.baseline} <= set(cluster)]
    if not inside:
        return ""
    within = [p.verdict in ("equivalent", "different, within the margin") for p in inside]
    if all(within):
        return f" (equivalent within {inside[0].margin:g})"
    return f" ({sum(within)} of {len(inside)} pairs equivalent within {inside[0].margin:g})"


def check_margins(margins: Mapping[str, float], metrics: Collection[str]) -> None:
    for metric, margin in margins.items():
        known_name("metric", metric, metrics, location="margins")
        if not 0 < margin < float("inf"):
            raise InputError(f"a margin must be above 0, but got {margin} for '{metric}'")


def margins(options: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """METRIC=MARGIN of the command line; raises InputError for unknown metrics and margins not above 0."""
    spelled = {metric.casefold(): metric for metric in metrics}
    by_name = numbers(options, "METRIC=MARGIN", "--margin", above=0)
    by_metric = {spelled.get(name.casefold(), name): margin for name, margin in by_name.items()}
    for metric in by_metric:
        if metric not in metrics:
            raise InputError(
                f"--margin names '{metric}', which is not computed", remedy=f"metrics: {', '.join(metrics)}"
            )
    return by_metric
