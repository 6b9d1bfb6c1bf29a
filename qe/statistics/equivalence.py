"""Equivalence: whether two systems differ by less than a margin, which "no difference found" does not show.

Two one-sided tests (TOST): Schuirmann 1987; Lakens 2017.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.assignments import numbers
from features.basics.errors import InputError
from features.basics.undefined import or_none
from qe.statistics.corrections import correct
from qe.statistics.result import LEVEL

Verdict = Literal["different", "different, within the margin", "equivalent", "undecided"]
BY_JACKKNIFE = "two one-sided t tests (jackknife)"
BY_BOOTSTRAP = "two one-sided tests (paired bootstrap, centred)"


@dataclass(frozen=True)
class Equivalence:
    """One pair of systems within a margin; units of the metric.

    difference     score of the system minus score of the baseline
    margin         differences below it do not matter
    p              of the two one-sided tests: small where the difference lies within the margin; NaN where
                   undefined
    p_corrected    the same, corrected over the pairs by that metric
    p_noninferior  small where the system is not worse than the baseline by the margin or more (uncorrected)
    verdict        different: a difference was shown; equivalent: it was shown to lie within the margin;
                   different, within the margin: both; undecided: neither
    """

    system: str
    baseline: str
    metric: str
    difference: float
    margin: float
    p: float
    p_noninferior: float
    test: str
    p_corrected: float = float("nan")
    verdict: Verdict = "undecided"

    def to_json(self) -> dict[str, Any]:
        return {key: or_none(v) if isinstance(v, float) else v for key, v in vars(self).items()}


def tost_jackknife(difference: float, left_out: Sequence[FloatArray], margin: float) -> tuple[float, float]:
    """p-values of two t tests: that the difference is above -margin, and that it is below +margin.

    left_out  for each kind of units, (u,) differences with one unit left out

    For a mean of paired values these are the paired t tests. NaN if a difference is undefined, or with
    one unit. Both tests of systems that never differ are certain: 0.
    """
    if np.isnan(difference) or any(np.isnan(d).any() or len(d) < 2 for d in left_out):
        return float("nan"), float("nan")
    error = float(np.sqrt(sum((len(d) - 1) / len(d) * np.sum((d - d.mean()) ** 2) for d in left_out)))
    if not error > 1e-12 * max(abs(difference), margin):
        return float(difference <= -margin), float(difference >= margin)
    freedom = min(map(len, left_out)) - 1
    above, below = ((margin + sign * difference) / error for sign in (1, -1))
    return float(stats.t.sf(above, freedom)), float(stats.t.sf(below, freedom))


def tost_bootstrap(difference: float, drawn: FloatArray, margin: float) -> tuple[float, float]:
    """The same from (samples,) bootstrap differences, moved to each end of the margin."""
    if np.isnan(difference) or np.isnan(drawn).any():
        return float("nan"), float("nan")
    null = drawn - difference
    above = np.count_nonzero(null - margin >= difference)
    below = np.count_nonzero(null + margin <= difference)
    return (above + 1) / (len(drawn) + 1), (below + 1) / (len(drawn) + 1)


def one_sided(
    key: tuple[str, str, str],
    difference: float,
    margin: float,
    tests: tuple[float, float],
    test: str,
    higher_is_better: bool | None,
) -> Equivalence:
    """From the p-values of both sides: TOST is the larger one, non-inferiority the side that is worse."""
    above, below = tests
    worse = {True: above, False: below, None: float("nan")}[higher_is_better]
    return Equivalence(*key, difference, margin, float(np.maximum(above, below)), worse, test)


def judged(
    pairs: Sequence[Equivalence],
    different: Mapping[tuple[str, str, str], float],
    method: str,
    level: float = LEVEL,
) -> list[Equivalence]:
    """With p-values corrected over the pairs of each metric, and verdicts.

    different  (system, baseline, metric) -> corrected p-value of a difference; NaN shows none
    """
    judgements = []
    for metric in dict.fromkeys(pair.metric for pair in pairs):
        of_metric = [pair for pair in pairs if pair.metric == metric]
        for pair, p in zip(of_metric, correct([one.p for one in of_metric], method), strict=True):
            shown = different[pair.system, pair.baseline, metric] <= level
            judgements.append(
                replace(pair, p_corrected=float(p), verdict=_verdict(bool(shown), bool(p <= level)))
            )
    return judgements


def _verdict(different: bool, within: bool) -> Verdict:
    if different:
        return "different, within the margin" if within else "different"
    return "equivalent" if within else "undecided"


def cluster_words(cluster: Sequence[str], pairs: Sequence[Equivalence], metric: str) -> str:
    """What is known of the systems of a cluster: equivalent, or undecided; empty for one, or no margin."""
    inside = [p for p in pairs if p.metric == metric and {p.system, p.baseline} <= set(cluster)]
    if not inside:
        return ""
    within = [p.verdict in ("equivalent", "different, within the margin") for p in inside]
    if all(within):
        return f" (equivalent within {inside[0].margin:g})"
    return f" ({sum(within)} of {len(inside)} pairs equivalent within {inside[0].margin:g})"


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
