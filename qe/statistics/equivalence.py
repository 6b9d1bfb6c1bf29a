"""Equivalence: whether two systems differ by less than a margin; a test that finds no difference is no proof.

Two one-sided tests (TOST): Schuirmann 1987; Lakens 2017.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.assignments import numbers
from features.basics.errors import InputError, known_name
from qe.statistics.family import TOST, Equivalence, Key, Pair, Rule, Table, Verdict
from qe.statistics.intervals import exceeds
from qe.statistics.levels import Levels
from qe.statistics.result import TestResult


def equivalences(
    pairs: Mapping[Key, Pair],
    jackknife: Callable[[Key], Sequence[FloatArray]],
    margins: Mapping[str, float],
    better: Mapping[str, bool | None],
    levels: Levels,
    rule: Rule,
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
    decidable, answers = not reach.shortfall(rule.level), []
    for key, item in Table.from_keys(list(tested), rule, alike=alike).corrected(results).items():
        different = pairs[key].p_corrected <= rule.level
        verdict = _verdict(different, item.p_corrected <= rule.level, bool(item.result.undecided))
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
