"""Verdict: what a run found, in one sentence."""

from collections.abc import Mapping
from typing import Any

from qe.display.numbers import p_value
from qe.evaluation.pairs import json_name
from qe.statistics.metric import METRICS
from qe.statistics.result import LEVEL
from qe.training.summary import PARTS, shown, value_of

_BETTER = "better"
# The rule of thumb of docs/own-data.md: from this Pearson on.
_RANKS = ((0.3, "enough to rank roughly"), (0.5, "enough to rank"), (0.7, "ranks well"))


def verdict(report: Mapping[str, Any]) -> str:
    """The judging figure, its best baseline, whether it is better, and its use.

    It is of the test split if its labels are known, else of nested cross-validation, else of the folds.
    """
    part = next(part for part in PARTS if report[part] is not None)
    metric, name = report["experiment"]["evaluation"]["metric"], report["experiment"]["name"]
    section, kind = report[part], METRICS.get(metric)
    told = f"{kind.title} {shown(section['systems'][name], metric)} {PARTS[part]}"
    best = _best(section, metric)
    if best is None:
        return f"{told}."
    value = kind.shown(value_of(section["systems"][best], metric))
    tested = _tested(section, name, best, metric)
    use = _use(value_of(section["systems"][name], "pearson"), metric) if tested.endswith(_BETTER) else ""
    return f"{told}; the best baseline, {best}, has {value}{tested}{use}."


def _use(pearson: float | None, metric: str) -> str:
    if pearson is None:
        return ""
    by = "" if metric == "pearson" else f" (Pearson {pearson:.2f})"
    if pearson < _RANKS[0][0]:
        return f", yet of little use for ranking{by}"
    ranks = [words for least, words in _RANKS if pearson >= least][-1]
    return f", {ranks}{by}; not to publish unseen without thresholds"


def _best(section: Mapping[str, Any], metric: str) -> str | None:
    values = {name: value_of(section["systems"][name], metric) for name in section["baselines"]}
    known = {name: value for name, value in values.items() if value is not None}
    sign = 1 if METRICS.get(metric).higher_is_better else -1
    return max(known, key=lambda name: sign * known[name], default=None)


def _tested(section: Mapping[str, Any], name: str, baseline: str, metric: str) -> str:
    pair = (name, baseline, json_name(metric))
    for one in section["comparisons"]:
        if (one["system"], one["baseline"], one["metric"]) == pair:
            return f"; {_words(one, METRICS.get(metric).higher_is_better)}"
    return ""


def _words(one: Mapping[str, Any], higher_is_better: bool) -> str:
    p = one["p_corrected"]
    if p is None:
        return "the segments are too few to tell them apart" if one["undecided"] else "p is undefined"
    if p > LEVEL:
        return f"p {p_value(p, None)}: no difference is shown"
    better = (one["difference"] > 0) == higher_is_better
    return f"p {p_value(p, None)}: {_BETTER if better else 'worse'}"
