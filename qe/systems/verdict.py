"""Verdict: what a comparison of MT systems found, in a sentence a system."""

from qe.display.numbers import number, p_value
from qe.statistics.family import Pair
from qe.systems.results import SystemsComparison
from qe.systems.text_metric import title_of

TOLD = 3  # systems that have a sentence each


def verdict(comparison: SystemsComparison) -> str:
    """Whether each system is better or worse than the baseline, metric by metric.

    For many systems, how many are.
    """
    baseline = comparison.recipe["baseline"]
    others = [name for name in comparison.scores if name != baseline]
    if len(others) <= TOLD:
        return " ".join(f"{name}: {_of_system(comparison, name)}." for name in others)
    told = (f"{_count(comparison, metric)} by {title_of(metric)}" for metric in comparison.metrics)
    return f"{len(others)} systems against {baseline}: {'; '.join(told)}."


def _of_system(comparison: SystemsComparison, system: str) -> str:
    found = (comparison.against_baseline(system, metric) for metric in comparison.metrics)
    return "; ".join(_words(comparison, one) for one in found if one is not None)


def _words(comparison: SystemsComparison, one: Pair) -> str:
    own, other = (comparison.scores[s][one.metric].instability.mean for s in (one.system, one.baseline))
    told = f"{title_of(one.metric)} {number(own, 2)} against {number(other, 2)}"
    if one.result.undecided:
        return f"{told}, the segments are too few to tell them apart"
    return f"{told}, {_found(comparison, one)} (p {p_value(one.p_corrected, None)})"


def _found(comparison: SystemsComparison, one: Pair) -> str:
    better = comparison.metrics[one.metric].higher_is_better
    if one.p_corrected > comparison.settings.level:
        return "no difference is shown"
    if better is None:
        return "different"
    return "better" if (one.result.difference > 0) == better else "worse"


def _count(comparison: SystemsComparison, metric: str) -> str:
    compared = [one for one in comparison.comparisons if one.metric == metric]
    found = [_found(comparison, one) for one in compared if not one.result.undecided]
    kinds = [f"{found.count(kind)} {kind}" for kind in ("better", "worse", "different") if kind in found]
    return ", ".join(kinds) or "no difference is shown"
