"""Equivalence: whether two systems differ by less than a margin.

A test that finds no difference does not show that.

Two one-sided tests (TOST): Schuirmann 1987; Lakens 2017.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.assignments import numbers
from features.basics.errors import InputError, known_name
from features.basics.undefined import finite_or_none
from qe.statistics.family import Judged, Key, Rule, Table
from qe.statistics.levels import Levels
from qe.statistics.one_sided import exceeds
from qe.statistics.reach import Reach
from qe.statistics.result import TestResult

Verdict = Literal["different", "different, within the margin", "equivalent", "undecided", "cannot be decided"]
NAME = "two one-sided t tests (jackknife)"


@dataclass(frozen=True)
class Equivalence:
    """One pair of systems within a margin; units of the metric.

    Attributes
    ----------
    difference : float
        Score of the system minus score of the baseline.
    margin : float
        Differences below it do not matter.
    p : float
        Of the two one-sided tests: small where the difference lies within the margin; NaN where it is
        undefined, or where so few units cannot decide.
    p_corrected : float
        The same, corrected as differences are.
    p_noninferior : float
        Small where the system is not worse than the baseline by the margin or more (uncorrected).
    verdict : str
        different: a difference was shown; equivalent: it was shown to lie within the margin; different,
        within the margin: both; undecided: neither; cannot be decided: neither, and so few units could
        not show it.
    undecided : str
        Why equivalence cannot be decided; empty if it can.
    """

    system: str
    baseline: str
    metric: str
    difference: float
    margin: float
    p: float
    p_noninferior: float
    test: str = NAME
    p_corrected: float = float("nan")
    verdict: Verdict = "undecided"
    undecided: str = ""

    def to_json(self) -> dict[str, Any]:
        told = {key: finite_or_none(v) if isinstance(v, float) else v for key, v in vars(self).items()}
        return {**told, "undecided": self.undecided or None}


def equivalences(
    differences: Mapping[Key, Judged],
    left_out: Callable[[Key], Sequence[FloatArray]],
    margins: Mapping[str, float],
    better: Mapping[str, bool | None],
    levels: Levels,
    rule: Rule,
    alike: Mapping[str, str],
) -> list[Equivalence]:
    """Every comparison by a metric with a margin, corrected and answered as differences are.

    differences  the tests of the same comparisons for a difference
    left_out     a comparison -> for each kind of units, (u,) differences with one unit left out
    better       metric -> whether higher is better; None: it has no direction
    alike        copies, as in `Table.of`

    As many units are asked for as a difference needs: below, nothing is said (`Levels.reach`).
    """
    pairs = {
        key: _tested(key, one.result.difference, margins[key[2]], left_out(key), better[key[2]], levels.reach)
        for key, one in differences.items()
        if key[2] in margins
    }
    results = {
        key: TestResult(pair.difference, pair.p, NAME, levels.reach.unit, 0, "two-sided", False, levels.reach)
        for key, pair in pairs.items()
    }
    table = Table.of(list(pairs), rule, alike=alike)
    return [
        _judged(pairs[key], one, differences[key].p_corrected <= rule.level, rule.level)
        for key, one in table.judge(results).items()
    ]


def _tested(
    key: Key,
    difference: float,
    margin: float,
    left_out: Sequence[FloatArray],
    higher_is_better: bool | None,
    reach: Reach,
) -> Equivalence:
    above, below = tost(difference, left_out, margin, reach.smallest)
    worse = {True: above, False: below, None: float("nan")}[higher_is_better]
    return Equivalence(*key, difference, margin, float(np.maximum(above, below)), worse)


def _judged(pair: Equivalence, one: Judged, different: bool, level: float) -> Equivalence:
    reach, why = one.result.reach, one.result.undecided
    told = reach is not None and not reach.lack(level)
    return replace(
        pair,
        p=one.result.p,
        p_corrected=one.p_corrected,
        p_noninferior=pair.p_noninferior if told else float("nan"),
        verdict=_verdict(bool(different), bool(one.p_corrected <= level), bool(why)),
        undecided=why,
    )


def tost(
    difference: float, left_out: Sequence[FloatArray], margin: float, least: float = 0.0
) -> tuple[float, float]:
    """p-values of two t tests: difference above -margin, difference below +margin.

    For a mean of paired values these are the paired t tests. NaN if a difference is undefined, or with
    one unit.

    Parameters
    ----------
    left_out : sequence of array of float
        For each kind of units, (u,) differences with one unit left out.
    least : float, default=0.0
        P-value of what is certain: systems that never differ.
    """
    turned = [-differences for differences in left_out]
    return exceeds(difference, left_out, -margin, least), exceeds(-difference, turned, -margin, least)


def _verdict(different: bool, within: bool, undecided: bool) -> Verdict:
    if different:
        return "different, within the margin" if within else "different"
    if undecided:
        return "cannot be decided"
    return "equivalent" if within else "undecided"


def undecided_notes(pairs: Sequence[Equivalence]) -> list[str]:
    """Why equivalence cannot be decided, a sentence for each reason."""
    reasons = dict.fromkeys(pair.undecided for pair in pairs if pair.undecided)
    return [f"equivalence within a margin cannot be decided: {why}" for why in reasons]


def cluster_words(cluster: Sequence[str], pairs: Sequence[Equivalence], metric: str) -> str:
    """Note on the equivalent pairs in a cluster; empty for one system or without a margin."""
    inside = [p for p in pairs if p.metric == metric and {p.system, p.baseline} <= set(cluster)]
    if not inside:
        return ""
    within = [p.verdict in ("equivalent", "different, within the margin") for p in inside]
    if all(within):
        return f" (equivalent within {inside[0].margin:g})"
    return f" ({sum(within)} of {len(inside)} pairs equivalent within {inside[0].margin:g})"


def check_margins(margins: Mapping[str, float], metrics: Collection[str]) -> None:
    """Raises InputError for a margin that is not above 0, or whose metric is not computed."""
    for metric, margin in margins.items():
        known_name("metric", metric, metrics, location="margins")
        if not 0 < margin < float("inf"):
            raise InputError(f"a margin must be above 0, but got {margin} for '{metric}'")


def margins(given: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """METRIC=MARGIN of the command line.

    Raises InputError for unknown metrics and for margins that are not above 0.
    """
    by_metric = numbers(given, "METRIC=MARGIN", "--margin", above=0)
    for metric in by_metric:
        if metric not in metrics:
            raise InputError(
                f"--margin names '{metric}', which is not computed", remedy=f"metrics: {', '.join(metrics)}"
            )
    return by_metric
