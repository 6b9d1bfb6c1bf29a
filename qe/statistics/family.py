"""Families: comparisons that are corrected together, and the p-values they can reach.

The rule, for `qe evaluate` and `qe compare` alike. A family is all pairs of systems that are compared by
one metric (scope `metric`, the default: every metric answers a question of its own). Whoever picks the best
of several metrics after the fact takes the scope `table`: all pairs by all metrics that have a direction.
Comparisons that can claim nothing of their own dilute no family: a system against its copy, a copy against
what the system is compared with already, and, in the scope `table`, metrics without a direction such as
`length`, which form a family of their own. The scope `all` counts every comparison of the table.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError, unknown_name
from features.storage.files import digest
from qe.statistics.corrections import check_correction, correct, experimentwise_error
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

    Attributes
    ----------
    method : str
        None, bonferroni, holm, bh; `in the test` for p-values that hold for all pairs already (Tukey).
    """

    scope: Scope = "metric"
    method: str = "holm"
    level: float = LEVEL

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise unknown_name("family", self.scope, SCOPES)
        if self.method != IN_TEST:
            check_correction(self.method)
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
    twins    comparisons of copies -> the same comparison, which is among the members and counted once
    """

    rule: Rule
    members: Mapping[str, tuple[Key, ...]]
    copies: frozenset[Key] = frozenset()
    twins: Mapping[Key, Key] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        keys: Sequence[Key],
        rule: Rule,
        *,
        alike: Mapping[str, str] | None = None,
        undirected: Sequence[str] = (),
    ) -> "Table":
        """From all comparisons.

        alike       system -> the first of the systems that it is a copy of (`copies_of`)
        undirected  metrics that have no better or worse
        """
        same = {} if rule.scope == "all" else alike or {}
        members: dict[str, list[Key]] = {}
        copies, twins = set(), {}
        first: dict[tuple[frozenset[str], str], Key] = {}
        for key in keys:
            a, b = (same.get(name, name) for name in key[:2])
            if same and a == b:
                copies.add(key)
            elif (told := first.setdefault((frozenset((a, b)), key[2]), key)) != key:
                twins[key] = told
            else:
                members.setdefault(_family(key[2], rule.scope, undirected), []).append(key)
        return cls(
            rule, {name: tuple(of_name) for name, of_name in members.items()}, frozenset(copies), twins
        )

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
        for twin, key in self.twins.items():
            result = replace(judged[key].result, difference=results[twin].difference)
            judged[twin] = replace(judged[key], result=result)
        return {key: judged[key] for key in results}

    def answered(self, key: Key, result: TestResult) -> TestResult:
        """Another result for one of the comparisons, without p where its family could not decide it."""
        key = self.twins.get(key, key)
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
        if np.isnan(result.p) or result.reach is None or result.units == 0:
            return result
        why = result.reach.lack(self.rule.level, factor)
        return without_answer(result, why) if why else result

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
        """Comparisons with a corrected p-value within two Monte-Carlo errors of the level.

        The errors are standard errors.
        """
        near = []
        for key, one in judged.items():
            scale = one.p_corrected / one.result.p if one.result.p > 0 else 1.0
            if abs(one.p_corrected - self.rule.level) < 2 * one.result.error * scale:
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
            "copies": len(self.copies) + len(self.twins),
            "error_uncorrected": experimentwise_error(self.rule.level, self.largest),
        }


def reversed_result(result: TestResult) -> TestResult:
    """The same test of the pair in the other order."""
    return replace(result, difference=-result.difference)


def _family(metric: str, scope: Scope, undirected: Sequence[str]) -> str:
    if scope == "metric" or (scope == "table" and metric in undirected):
        return metric
    return "all metrics with a direction" if scope == "table" else "the whole table"


def copies_of(systems: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Each system -> the first system that has the same values, itself if there is none before.

    >>> copies_of({"a": np.array([0.0, 1]), "b": np.array([1.0, 1]), "c": np.array([-0.0, 1])})
    {'a': 'a', 'b': 'b', 'c': 'a'}
    """
    first: dict[tuple[tuple[int, ...], str], str] = {}
    return {
        name: first.setdefault((values.shape, digest((values + 0.0).tobytes())), name)
        for name, values in systems.items()
    }
