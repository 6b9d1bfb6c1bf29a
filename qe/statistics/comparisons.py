"""Comparisons: one engine of tests, intervals and ranks, for QE models and MT systems."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.basics.threads import cores
from qe.statistics.bootstrap import Method, bootstrap_test
from qe.statistics.equivalence import Equivalence, equivalences
from qe.statistics.family import Judged, Key, Rule, reversed_result
from qe.statistics.groups import group_index
from qe.statistics.intervals import Link, bca_interval, jackknife_interval, percentile_interval
from qe.statistics.levels import Levels
from qe.statistics.randomization import Exchange
from qe.statistics.ranks import RankInterval, rank_intervals
from qe.statistics.reach import Tail
from qe.statistics.result import LEVEL, TestResult, at_every_level, with_units
from qe.statistics.scored import Drawn, Draws, Scored
from qe.statistics.tukey import NAMES, Contrasts, Pairs

Test = Literal["ar", "bootstrap", "win-ratio", "shifted", "tukey", "scheffe"]
ALL_AT_ONCE: Mapping[str, Contrasts] = {"tukey": "pairs", "scheffe": "all"}
Interval = Literal["jackknife", "percentile", "bca"]
_METHODS: Mapping[str, Method] = {"bootstrap": "centred", "win-ratio": "win-ratio", "shifted": "shifted"}


@dataclass(frozen=True)
class Procedure:
    """How systems are compared.

    test       ar: approximate randomization; bootstrap (centred), win-ratio, shifted: paired bootstrap;
               tukey, scheffe: all systems at once, all pairs or all contrasts
    exchanges  units of exchange of `ar` for systems with several runs, all of which must show a difference
    """

    test: Test
    samples: int
    seed: int
    exchanges: Sequence[Exchange] = ("segment",)
    tail: Tail = "two-sided"
    interval: Interval = "jackknife"
    confidence: float = 0.95


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Scored systems, compared; every answer holds for new units of every level.

    given  bootstrap scores that are there already; otherwise they are drawn where they are asked for
    """

    scored: Scored
    levels: Levels
    how: Procedure
    progress: Progress = silent
    given: Drawn | None = field(default=None, repr=False)
    _without: dict[tuple[str, str], list[FloatArray]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def drawn(self) -> Drawn:
        """Scores of virtual test sets."""
        if self.given is not None:
            return self.given
        drawn = self.scored.resampled(self.levels, self.how.samples, self.how.seed, self.progress)
        known = 1.0 if self.levels.smallest > 1 else np.nan  # one unit gives the real test set again
        return {key: known * scores for key, scores in drawn.items()}

    def tests(self, pairs: Sequence[tuple[str, str]]) -> dict[Key, TestResult]:
        """(system, baseline, metric) -> result, for every pair and metric."""
        if self.how.test in ALL_AT_ONCE:
            return self._at_once(pairs, ALL_AT_ONCE[self.how.test])
        if self.how.test != "ar" and pairs:
            _ = self.drawn  # before the threads ask for it
        results: dict[Key, TestResult] = {}
        with ThreadPoolExecutor(cores()) as pool:
            tested = pool.map(lambda pair: self.test(*pair), pairs)
            for done, (pair, by_metric) in enumerate(zip(pairs, tested, strict=True)):
                self.progress("testing", done, len(pairs))
                results |= {(*pair, metric): one for metric, one in by_metric.items()}
        self.progress("testing", len(pairs), len(pairs))
        return results

    def test(
        self, system: str, baseline: str, exchanges: Sequence[Exchange] | None = None
    ) -> dict[str, TestResult]:
        """Metric -> the test of one pair: the largest p of all units of exchange, and of all levels."""
        if self.how.test != "ar":
            results = {m: self._bootstrapped(system, baseline, m) for m in self.scored.metrics}
        else:
            results = self._exchanged(system, baseline, exchanges or self.how.exchanges)
        return {metric: self._defined((system, baseline, metric), one) for metric, one in results.items()}

    def _defined(self, key: Key, result: TestResult) -> TestResult:
        if np.isnan(self.difference(*key)):
            return replace(result, difference=np.nan, p=np.nan, error=np.nan)
        return result

    def _exchanged(self, system: str, baseline: str, exchanges: Sequence[Exchange]) -> dict[str, TestResult]:
        by_unit = []
        for exchange in exchanges:
            for level, groups in [("run", None)] if exchange == "run" else self.levels.each():
                draws = Draws(self.how.samples, self.how.seed, self.how.tail, groups, exchange)
                results = self.scored.exchanged(system, baseline, draws)
                by_unit.append({metric: with_units(one, level) for metric, one in results.items()})
        return {metric: at_every_level([one[metric] for one in by_unit]) for metric in self.scored.metrics}

    def _bootstrapped(self, system: str, baseline: str, metric: str) -> TestResult:
        undefined = np.full(self.how.samples, np.nan)
        own, other = (self.drawn.get((name, metric), undefined) for name in (system, baseline))
        return bootstrap_test(
            own, other, self.difference(system, baseline, metric),
            method=_METHODS[self.how.test], tail=self.how.tail,
            resampled=" and ".join(name for name, _ in self.levels.each()),
            units=self._differing(system, baseline, metric),
        )  # fmt: skip

    def _differing(self, system: str, baseline: str, metric: str) -> int:
        changed = self.scored.differ(system, baseline, metric)
        return min(
            int(changed.sum())
            if groups is None
            else len(np.unique(group_index(groups, len(changed))[0][changed]))
            for _, groups in self.levels.each()
        )

    def _at_once(self, pairs: Sequence[tuple[str, str]], contrasts: Contrasts) -> dict[Key, TestResult]:
        if self.levels.crossed:
            raise InputError(
                f"the {NAMES[contrasts]} takes one kind of units",
                remedy="give one --group, or use the test 'ar'",
            )
        first = self.scored.copies()
        distinct, results = tuple(dict.fromkeys(first.values())), {}
        draws = Draws(
            self.how.samples, self.how.seed,
            groups=self.levels.single, exchange=self.how.exchanges[0], contrasts=contrasts,
        )  # fmt: skip
        for done, metric in enumerate(self.scored.metrics):
            self.progress("testing", done, len(self.scored.metrics))
            every = self.scored.dealt(metric, distinct, draws) if pairs and len(distinct) > 1 else {}
            for a, b in pairs:
                dealt = self._dealt(every, first[a], first[b], NAMES[contrasts])
                results[a, b, metric] = self._defined((a, b, metric), dealt)
        self.progress("testing", len(self.scored.metrics), len(self.scored.metrics))
        return results

    def _dealt(self, every: Pairs, a: str, b: str, test: str) -> TestResult:
        if a == b:
            return TestResult(0.0, 1.0, test, self.levels.reach.unit, 0, "two-sided", True)
        return every[a, b] if (a, b) in every else reversed_result(every[b, a])

    def difference(self, system: str, baseline: str, metric: str) -> float:
        """Score of the system minus score of the baseline."""
        return self.scored.score(system, metric) - self.scored.score(baseline, metric)

    def left_out(self, key: Key) -> list[FloatArray]:
        """For each level, the differences with one unit left out."""
        system, baseline, metric = key
        pairs = zip(self.without(system, metric), self.without(baseline, metric), strict=True)
        return [own - other for own, other in pairs]

    def without(self, system: str, metric: str) -> list[FloatArray]:
        """For each level, the scores with one unit left out."""
        if (system, metric) not in self._without:
            self._without[system, metric] = [
                self.scored.left_out(system, metric, groups) for _, groups in self.levels.each()
            ]
        return self._without[system, metric]

    def interval(self, key: Key) -> tuple[float, float]:
        """Confidence interval of a difference."""
        system, baseline, metric = key
        difference = self.difference(*key)
        if self.how.interval == "jackknife":
            return jackknife_interval(difference, self.left_out(key), self.how.confidence)
        drawn = self.drawn[system, metric] - self.drawn[baseline, metric]
        left_out = self.left_out(key) if self.how.interval == "bca" else []
        return self.of_drawn(drawn, difference, left_out)

    def of_drawn(
        self, drawn: FloatArray, observed: float, left_out: Sequence[FloatArray], link: Link = "identity"
    ) -> tuple[float, float]:
        """The interval asked for, from (samples,) bootstrap scores or scores with a unit left out."""
        if self.how.interval == "bca":
            return bca_interval(drawn, observed, left_out[0], self.how.confidence)
        if self.how.interval == "percentile":
            return percentile_interval(drawn, self.how.confidence)
        return jackknife_interval(observed, left_out, self.how.confidence, link)

    def equivalences(
        self,
        judged: Mapping[Key, Judged],
        margins: Mapping[str, float],
        better: Mapping[str, bool | None],
        rule: Rule,
    ) -> list[Equivalence]:
        """Two one-sided tests of every comparison by a metric with a margin."""
        return equivalences(judged, self.left_out, margins, better, self.levels, rule, self.scored.copies())

    def ranks(
        self, judged: Mapping[Key, Judged], better: Mapping[str, bool], drawn: Drawn, level: float = LEVEL
    ) -> dict[str, dict[str, RankInterval]]:
        """Metric -> rank intervals, from the tests of all pairs and bootstrap scores.

        better  the metrics asked about -> whether higher is better
        drawn   scores of all systems; a metric without them has simultaneous intervals alone
        """
        names, intervals = list(self.scored.systems), {}
        for metric, higher in better.items():
            sign = 1.0 if higher else -1.0
            gains = {
                key[:2]: (sign * one.result.difference, one.p_corrected)
                for key, one in judged.items()
                if key[2] == metric
            }
            known = all((name, metric) in drawn for name in names)
            scores = {name: sign * drawn[name, metric] for name in names} if known else {}
            intervals[metric] = rank_intervals(names, gains, scores, level)
        return intervals

    def part(self, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]", samples: int) -> "Comparisons":
        """The same systems on some of the segments."""
        how = replace(self.how, samples=samples)
        return Comparisons(self.scored.part(rows), self.levels.part(rows), how)
