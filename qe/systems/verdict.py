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
    return "; ".join(_words(comparison, item) for item in found if item is not None)


def _words(comparison: SystemsComparison, item: Pair) -> str:
    own, other = (comparison.scores[s][item.metric].instability.mean for s in (item.system, item.baseline))
    told = f"{title_of(item.metric)} {number(own, 2)} against {number(other, 2)}"
    if item.result.undecided:
        return f"{told}, the segments are too few to tell them apart"
    return f"{told}, {_finding(comparison, item)} (p {p_value(item.p_corrected, None)})"


def _finding(comparison: SystemsComparison, item: Pair) -> str:
    better = comparison.metrics[item.metric].higher_is_better
    if item.p_corrected > comparison.settings.level:
        return "no difference is shown"
    if better is None:
        return "different"
    return "better" if (item.result.difference > 0) == better else "worse"


def _count(comparison: SystemsComparison, metric: str) -> str:
    compared = [item for item in comparison.comparisons if item.metric == metric]
    found = [_finding(comparison, item) for item in compared if not item.result.undecided]
    kinds = [f"{found.count(kind)} {kind}" for kind in ("better", "worse", "different") if kind in found]
    return ", ".join(kinds) or "no difference is shown"
