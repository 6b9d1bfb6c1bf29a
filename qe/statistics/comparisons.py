"""Comparisons: one engine of tests, intervals and ranks, for QE models and MT systems."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.basics.threads import cores
from qe.statistics.bootstrap import Method, bootstrap_test
from qe.statistics.equivalence import equivalences
from qe.statistics.family import Equivalence, Key, Pair, Rule, Table, reversed_result
from qe.statistics.intervals import Link, bca_interval, jackknife_interval, percentile_interval
from qe.statistics.levels import Levels, group_index
from qe.statistics.randomization import Exchange
from qe.statistics.ranks import RankInterval, clusters, rank_intervals
from qe.statistics.result import LEVEL, TestResult, largest_p, with_units
from qe.statistics.scored import Additive, Predictions, VirtualScores
from qe.statistics.settings import ALL_AT_ONCE, ResamplingSettings
from qe.statistics.tukey import NAMES

_METHODS: Mapping[str, Method] = {"bootstrap": "centred", "win-ratio": "win-ratio", "shifted": "shifted"}


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Scored systems, compared; virtual test sets are drawn on first use unless `computed` has them."""

    scored: Additive | Predictions
    levels: Levels
    settings: ResamplingSettings
    progress: Progress = silent
    computed: VirtualScores | None = field(default=None, repr=False)
    _jackknife: dict[tuple[str, str], list[FloatArray]] = field(default_factory=dict, init=False, repr=False)

    @property
    def samples(self) -> int:
        return self.settings.samples or 0

    @cached_property
    def virtual_scores(self) -> VirtualScores:
        if self.computed is not None:
            return self.computed
        drawn = self.scored.resampled(self.levels, self.samples, self.settings.seed, self.progress)
        defined = 1.0 if self.levels.smallest > 1 else np.nan  # one unit gives the real test set again
        return {key: defined * scores for key, scores in drawn.items()}

    def tests(self, pairs: Sequence[tuple[str, str]]) -> dict[Key, TestResult]:
        """(system, baseline, metric) -> result, for every pair and metric."""
        if self.settings.test in ALL_AT_ONCE:
            return self._all_at_once(pairs)
        if self.settings.test != "ar" and pairs:
            _ = self.virtual_scores  # before the threads need it
        results: dict[Key, TestResult] = {}
        with ThreadPoolExecutor(cores()) as pool:
            tested = pool.map(lambda pair: self.test(*pair), pairs)
            for done, (pair, by_metric) in enumerate(zip(pairs, tested, strict=True)):
                self.progress("testing", done, len(pairs))
                results |= {(*pair, metric): item for metric, item in by_metric.items()}
        self.progress("testing", len(pairs), len(pairs))
        return results

    def test(
        self, system: str, baseline: str, exchanges: Sequence[Exchange] | None = None
    ) -> dict[str, TestResult]:
        """Metric -> the test of one pair: the largest p of all units of exchange, and of all levels."""
        if self.settings.test != "ar":
            results = {m: self._bootstrapped(system, baseline, m) for m in self.scored.metrics}
        else:
            results = self._exchanged(system, baseline, exchanges or self.settings.exchanges)
        return {metric: self._defined((system, baseline, metric), item) for metric, item in results.items()}

    def _defined(self, key: Key, result: TestResult) -> TestResult:
        if np.isnan(self.difference(*key)):
            return replace(result, difference=np.nan, p=np.nan, error=np.nan)
        return result

    def _exchanged(self, system: str, baseline: str, exchanges: Sequence[Exchange]) -> dict[str, TestResult]:
        by_unit = []
        for exchange in exchanges:
            for level, groups in [("run", None)] if exchange == "run" else self.levels.items():
                results = self.scored.exchanged(system, baseline, self.settings, groups, exchange)
                by_unit.append({metric: with_units(item, level) for metric, item in results.items()})
        return {metric: largest_p([item[metric] for item in by_unit]) for metric in self.scored.metrics}

    def _bootstrapped(self, system: str, baseline: str, metric: str) -> TestResult:
        undefined = np.full(self.samples, np.nan)
        first, second = (self.virtual_scores.get((name, metric), undefined) for name in (system, baseline))
        differing = self.scored.differ(system, baseline, metric)
        return bootstrap_test(
            first, second, self.difference(system, baseline, metric),
            method=_METHODS[self.settings.test], tail=self.settings.tail,
            resampled=" and ".join(name for name, _ in self.levels.items()),
            units=min(
                int(differing.sum())
                if groups is None
                else len(np.unique(group_index(groups, len(differing))[0][differing]))
                for _, groups in self.levels.items()
            ),
        )  # fmt: skip

    def _all_at_once(self, pairs: Sequence[tuple[str, str]]) -> dict[Key, TestResult]:
        name = NAMES[ALL_AT_ONCE[self.settings.test]]
        if self.levels.crossed:
            raise InputError(
                f"the {name} takes one kind of units", remedy="give one --group, or use the test 'ar'"
            )
        first = self.scored.copies()
        distinct, results = tuple(dict.fromkeys(first.values())), {}
        for done, metric in enumerate(self.scored.metrics):
            self.progress("testing", done, len(self.scored.metrics))
            tested = {}
            if pairs and len(distinct) > 1:
                tested = self.scored.permuted(metric, distinct, self.settings, self.levels.single)
            tested |= {(b, a): reversed_result(result) for (a, b), result in tested.items()}
            same = TestResult(0.0, 1.0, name, self.levels.reach.unit, 0, "two-sided", True)
            for a, b in pairs:
                result = same if first[a] == first[b] else tested[first[a], first[b]]
                results[a, b, metric] = self._defined((a, b, metric), result)
        self.progress("testing", len(self.scored.metrics), len(self.scored.metrics))
        return results

    def difference(self, system: str, baseline: str, metric: str) -> float:
        return self.scored.score(system, metric) - self.scored.score(baseline, metric)

    def jackknife(self, system: str, metric: str) -> list[FloatArray]:
        if (system, metric) not in self._jackknife:
            self._jackknife[system, metric] = [
                self.scored.leave_one_out(system, metric, groups) for _, groups in self.levels.items()
            ]
        return self._jackknife[system, metric]

    def jackknife_differences(self, key: Key) -> list[FloatArray]:
        """For each level, the differences of a comparison with one unit left out."""
        system, baseline, metric = key
        pairs = zip(self.jackknife(system, metric), self.jackknife(baseline, metric), strict=True)
        return [scores - of_baseline for scores, of_baseline in pairs]

    def interval(self, key: Key) -> tuple[float, float]:
        system, baseline, metric = key
        bootstrap = np.empty(0)
        if self.settings.interval != "jackknife":
            bootstrap = self.virtual_scores[system, metric] - self.virtual_scores[baseline, metric]
        left_out = self.jackknife_differences(key) if self.settings.interval != "percentile" else []
        return self.interval_of(bootstrap, self.difference(*key), left_out)

    def interval_of(
        self, bootstrap: FloatArray, observed: float, jackknife: Sequence[FloatArray], link: Link = "identity"
    ) -> tuple[float, float]:
        confidence = self.settings.confidence
        if self.settings.interval == "bca":
            return bca_interval(bootstrap, observed, jackknife[0], confidence)
        if self.settings.interval == "percentile":
            return percentile_interval(bootstrap, confidence)
        return jackknife_interval(observed, jackknife, confidence, link)

    def ranks(
        self,
        pairs: Mapping[Key, Pair],
        better: Mapping[str, bool],
        virtual_scores: VirtualScores,
        level: float = LEVEL,
    ) -> dict[str, dict[str, RankInterval]]:
        """Metric -> rank intervals, from the tests of all pairs and scores of virtual test sets."""
        names, intervals = list(self.scored.systems), {}
        for metric, higher in better.items():
            sign = 1.0 if higher else -1.0
            gains = {
                item.names: (sign * item.result.difference, item.p_corrected)
                for item in pairs.values()
                if item.metric == metric
            }
            complete = all((name, metric) in virtual_scores for name in names)
            scores = {name: sign * virtual_scores[name, metric] for name in names} if complete else {}
            intervals[metric] = rank_intervals(names, gains, scores, level)
        return intervals

    def part(self, rows: NDArray[np.int64], samples: int) -> "Comparisons":
        settings = replace(self.settings, samples=samples)
        return Comparisons(self.scored.part(rows), self.levels.part(rows), settings)


@dataclass(frozen=True, eq=False)
class Result:
    """Pairs of systems, tested and corrected together; `tested` has no intervals yet."""

    engine: Comparisons
    better: Mapping[str, bool | None]
    table: Table
    results: Mapping[Key, TestResult]
    tested: Mapping[Key, Pair]

    def pairs(self) -> list[Pair]:
        return [replace(pair, ci=self.engine.interval(key)) for key, pair in self.tested.items()]

    def subset(self, pairs: Sequence[tuple[str, str]]) -> "Result":
        """Some of the pairs, in either order of the two names, corrected by themselves."""
        table = comparison_table(self.engine.scored, pairs, self.better, self.table.rule)
        keys = [*table.copies, *table.twins, *(key for keys in table.members.values() for key in keys)]
        results = {}
        for a, b, metric in keys if self.results else ():
            tested = (a, b, metric) in self.results
            results[a, b, metric] = (
                self.results[a, b, metric] if tested else reversed_result(self.results[b, a, metric])
            )
        return replace(self, table=table, results=results, tested=table.corrected(results) if results else {})

    def clusters(self) -> dict[str, list[list[str]]]:
        """Metric -> systems that no test separates, best first; without metrics that are undecided."""
        short = {key[2] for key in self.table.short_of_samples(self.tested)}
        groups = {}
        for metric, higher in self.better.items():
            pairs = [pair for pair in self.tested.values() if pair.metric == metric]
            if metric not in short and any(not np.isnan(pair.result.p) for pair in pairs):
                scores = {name: self.engine.scored.score(name, metric) for name in self.engine.scored.systems}
                p_values = {pair.names: pair.p_corrected for pair in pairs}
                groups[metric] = clusters(best_first(scores, bool(higher)), p_values, LEVEL)
        return groups

    def equivalences(self, margins: Mapping[str, float], correction: str = "") -> list[Equivalence]:
        rule = replace(self.table.rule, method=correction or self.table.rule.method)
        return equivalences(
            self.tested, self.engine.jackknife_differences, margins, self.better, self.engine.levels, rule,
            self.engine.scored.copies(),
        )  # fmt: skip


def compare(
    scored: Additive | Predictions,
    levels: Levels,
    settings: ResamplingSettings,
    better: Mapping[str, bool | None],
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    computed: VirtualScores | None = None,
    progress: Progress = silent,
) -> Result:
    """Tests pairs of systems (default: all) by all metrics, and corrects the p-values.

    `better` is whether higher is better, None without a direction. Without a number of samples in the
    settings, as many are drawn as the comparisons need; 0: no tests.
    """
    pairs = list(combinations(scored.systems, 2)) if pairs is None else pairs
    table = comparison_table(scored, pairs, better, settings.rule)
    if settings.samples is None:
        settings = replace(settings, samples=table.resamples())
    engine = Comparisons(scored, levels, settings, progress, computed)
    tests = engine.tests(pairs) if settings.samples else {}
    results = {key: result for key, result in tests.items() if key[2] in better}
    return Result(engine, better, table, results, table.corrected(results) if results else {})


def comparison_table(
    scored: Additive | Predictions,
    pairs: Sequence[tuple[str, str]],
    better: Mapping[str, bool | None],
    rule: Rule,
) -> Table:
    keys = [(*pair, metric) for metric in better for pair in pairs]
    undirected = [metric for metric, higher in better.items() if higher is None]
    return Table.from_keys(keys, rule, alike=scored.copies(), undirected=undirected)


def best_first(scores: Mapping[str, float], higher_is_better: bool) -> list[str]:
    """The systems by score, best first; undefined scores last, ties in the order given."""
    sign = -1 if higher_is_better else 1
    return sorted(scores, key=lambda name: (np.isnan(scores[name]), sign * scores[name]))
