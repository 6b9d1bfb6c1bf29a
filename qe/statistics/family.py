"""Families: which comparisons of a table are corrected together, what that needs, and what it can decide.

The rule, for `qe evaluate` and `qe compare` alike. A family is all pairs of systems that are compared by
one metric (scope `metric`, the default: every metric answers a question of its own). Whoever picks the best
of several metrics after the fact takes the scope `table`: all pairs by all metrics that have a direction.
Comparisons that can claim nothing dilute no family: copies of a system, and, in the scope `table`, metrics
without a direction such as `length`, which form a family of their own. The scope `all` counts every
comparison of the table.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from features.basics.errors import InputError
from qe.statistics.corrections import CORRECTIONS, correct, experimentwise_error
from qe.statistics.result import LEVEL, TestResult, without_answer

Scope = Literal["metric", "table", "all"]
SCOPES: tuple[str, ...] = get_args(Scope)
Key = tuple[str, str, str]
"""(system, baseline, metric)."""

FEW = 20  # units below which p-values are coarse and resampling is rough
_PER_COMPARISON = (
    20  # resamples per comparison and 1 / level: a threshold p is counted to a standard error of 22 %
)
_LEAST = 1000
_STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class Rule:
    """How the comparisons of a table are corrected.

    method  none, bonferroni, holm, bh; `in the test` for p-values that hold for all pairs already (Tukey)
    """

    scope: Scope = "metric"
    method: str = "holm"
    level: float = LEVEL

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise InputError(f"unknown family '{self.scope}'", remedy=f"known: {', '.join(SCOPES)}")
        if self.method not in (*CORRECTIONS, IN_TEST):
            raise InputError(f"unknown correction '{self.method}'", remedy=f"known: {', '.join(CORRECTIONS)}")
        if not 0 < self.level < 1:
            raise InputError(f"0 < level < 1 must hold, but got {self.level}")


IN_TEST = "in the test"


@dataclass(frozen=True)
class Judged:
    """A result among its family: `p_corrected` is NaN if p is undefined or cannot be decided."""

    result: TestResult
    p_corrected: float
    family: str


@dataclass(frozen=True)
class Table:
    """The comparisons that are read together, in families.

    members  name of a family -> its comparisons
    copies   comparisons of a system with a copy of itself: shown with p = 1, counted nowhere
    """

    rule: Rule
    members: Mapping[str, tuple[Key, ...]]
    copies: frozenset[Key] = frozenset()

    @classmethod
    def of(
        cls,
        keys: Sequence[Key],
        rule: Rule,
        *,
        copies: Sequence[tuple[str, str]] = (),
        undirected: Sequence[str] = (),
    ) -> "Table":
        """From all comparisons, the pairs that are copies, and the metrics that have no better or worse."""
        same = {frozenset(pair) for pair in copies} if rule.scope != "all" else set()
        apart = frozenset(key for key in keys if frozenset(key[:2]) in same)
        members: dict[str, list[Key]] = {}
        for key in keys:
            if key not in apart:
                members.setdefault(_family(key[2], rule.scope, undirected), []).append(key)
        return cls(rule, {name: tuple(keys_of) for name, keys_of in members.items()}, apart)

    @property
    def largest(self) -> int:
        """Comparisons of the largest family."""
        return max((len(keys) for keys in self.members.values()), default=0)

    def resamples(self, least: int = _LEAST) -> int:
        """How many resamples corrected p-values need: 20 comparisons / level, or `least`.

        The smallest p-value, 1 / (R + 1), then stays far below what the correction asks of the best pair, and
        one at the threshold is counted from 20 resamples.

        >>> Table.of([("a", "b", "mae")], Rule()).resamples()
        1000
        >>> twelve = [(f"s{i}", f"s{j}", "mae") for i in range(12) for j in range(i)]
        >>> Table.of(twelve, Rule()).resamples()
        26400
        """
        factor = 1 if self.rule.method in ("none", IN_TEST) else self.largest
        return max(least, math.ceil(_PER_COMPARISON * factor / self.rule.level))

    def judge(self, results: Mapping[Key, TestResult]) -> dict[Key, Judged]:
        """Corrects the p-values within families, and withholds those that the data cannot decide.

        A result whose units are so few that no p-value, once corrected, could reach the level has no p-value.
        """
        judged = {key: Judged(results[key], results[key].p, "") for key in self.copies}
        for name, keys in self.members.items():
            judged |= self._judged(name, {key: results[key] for key in keys})
        return {key: judged[key] for key in results}

    def answered(self, key: Key, result: TestResult) -> TestResult:
        """Another result for one of the comparisons, without p where its family could not decide it."""
        sizes = (len(keys) for keys in self.members.values() if key in keys)
        return self._answered(result, self.factor(next(sizes, 1)))

    def _judged(self, name: str, results: Mapping[Key, TestResult]) -> dict[Key, Judged]:
        defined = sum(not np.isnan(result.p) for result in results.values())
        factor = self.factor(defined)
        answered = {key: self._answered(result, factor) for key, result in results.items()}
        method = "none" if self.rule.method == IN_TEST else self.rule.method
        # What cannot be decided was still asked: it keeps its place among the comparisons.
        asked = [result.p if answered[key].undecided == "" else 1.0 for key, result in results.items()]
        corrected = correct(asked, method)
        return {
            key: Judged(answered[key], float(p) if answered[key].undecided == "" else float("nan"), name)
            for key, p in zip(results, corrected, strict=True)
        }

    def factor(self, comparisons: int) -> int:
        """By how much the correction multiplies the smallest of so many p-values, at least.

        Benjamini and Hochberg's leaves it where all p-values are equally small.
        """
        return max(1, comparisons) if self.rule.method in ("bonferroni", "holm") else 1

    def _answered(self, result: TestResult, factor: int) -> TestResult:
        if np.isnan(result.p) or result.units == 0 or result.smallest * factor <= self.rule.level:
            return result
        among = f" among {factor} comparisons" if factor > 1 else ""
        return without_answer(
            result,
            f"the systems differ in {result.units} {_plural(result)}: no p-value below"
            f" {result.smallest:.3g} is possible, and {self.rule.level / factor:.2g} is needed{among}",
        )

    def short_of_samples(self, judged: Mapping[Key, Judged]) -> dict[Key, int]:
        """Comparisons that more resamples could still decide, and how many they need.

        Those are the ones whose p-value may be small enough for all that was drawn, but whose corrected value
        could not have reached the level with so few resamples.
        """
        short = {}
        for key, one in judged.items():
            result, factor = one.result, self.factor(len(self.members.get(one.family, ())))
            if result.exact or not result.samples or np.isnan(result.p) or one.family == "":
                continue
            bound = self.rule.level / factor
            reachable = 1 / (result.samples + 1) <= bound
            if not reachable and result.p - _STANDARD_ERRORS * result.error <= bound:
                short[key] = self.resamples()
        return short

    def borderline(self, judged: Mapping[Key, Judged]) -> list[Key]:
        """Comparisons whose corrected p-value lies within two Monte-Carlo standard errors of the level."""
        near = []
        for key, one in judged.items():
            scale = one.p_corrected / one.result.p if one.result.p > 0 else 1.0
            if 0 < abs(one.p_corrected - self.rule.level) < 2 * one.result.error * scale:
                near.append(key)
        return near

    def named(self) -> str:
        """The families in words, for tables."""
        return "; ".join(f"{name}: {len(keys)}" for name, keys in self.members.items())

    def to_json(self) -> dict[str, Any]:
        return {
            "scope": self.rule.scope,
            "correction": self.rule.method,
            "level": self.rule.level,
            "comparisons": {name: len(keys) for name, keys in self.members.items()},
            "copies": len(self.copies),
            "error_uncorrected": experimentwise_error(self.rule.level, self.largest),
        }


def reversed_result(result: TestResult) -> TestResult:
    """The same test of the pair in the other order."""
    return replace(result, difference=-result.difference)


def _family(metric: str, scope: Scope, undirected: Sequence[str]) -> str:
    if scope == "metric" or (scope == "table" and metric in undirected):
        return metric
    return "all metrics with a direction" if scope == "table" else "the whole table"


def _plural(result: TestResult) -> str:
    """Units in words."""
    unit = result.exchange
    return unit if result.units == 1 else f"{unit}s"
