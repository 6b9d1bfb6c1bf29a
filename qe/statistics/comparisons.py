"""All comparisons of some systems: scores that can be resampled, tests, intervals, corrections."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.basics.threads import cores
from qe.statistics.draws import Groups, Levels, group_index, group_sums, sample_blocks
from qe.statistics.family import Equivalence, Key, Pair, Table, copies_of
from qe.statistics.intervals import (
    bca_interval,
    jackknife_interval,
    jackknife_rescored,
    jackknife_scores,
    percentile_interval,
)
from qe.statistics.metric import AdditiveMetric, ExchangedMetric, Metric, RankedMetric
from qe.statistics.ranks import RankInterval, clusters, equivalences, rank_intervals
from qe.statistics.resampling import (
    ALL_PAIRS,
    Method,
    TestsOfPairs,
    bootstrap_test,
    randomization_test_rescored,
    randomization_tests,
    stack,
    tukey_hsd,
    tukey_hsd_rescored,
    unstack,
)
from qe.statistics.result import Measure, TestResult, largest_p, with_units
from qe.statistics.settings import ALL_AT_ONCE, LEVEL, Exchange, ResamplingSettings

VirtualScores = Mapping[tuple[str, str], FloatArray]
"""(system, metric) -> (samples,) scores of virtual test sets."""
Rows = NDArray[np.int64]
_ENOUGH = 100  # extreme shuffles after which a ranking metric's test may stop; more with many samples


@dataclass(frozen=True, eq=False)
class Scored:
    """Systems by metrics, of which every segment's share is known; several runs are scored together.

    Attributes
    ----------
    statistics : mapping of str to array of float
        System -> (runs, n, k), the statistics of all metrics that are functions of sums, side by side.
    measures : mapping of str to Measure
        Metric -> its columns, and the score of their sums.
    gold, predictions : array of float
        Of QE systems (n,), oriented: higher is better.
    kinds : mapping of str to Metric
        All metrics of predictions, with those that are no functions of sums.
    unscored : collection of pair of str and str
        (system, metric) that cannot be computed, such as errors of a mere ranking.
    """

    statistics: Mapping[str, FloatArray]
    measures: Mapping[str, Measure]
    gold: FloatArray = field(default_factory=lambda: np.empty(0))
    predictions: Mapping[str, FloatArray] = field(default_factory=dict)
    kinds: Mapping[str, Metric] = field(default_factory=dict)
    unscored: Collection[tuple[str, str]] = ()

    @classmethod
    def from_predictions(
        cls,
        gold: FloatArray,
        predictions: Mapping[str, FloatArray],
        kinds: Mapping[str, Metric],
        unscored: Collection[tuple[str, str]] = (),
    ) -> "Scored":
        """QE systems, by metrics of any kind."""
        additive = {key: metric for key, metric in kinds.items() if isinstance(metric, AdditiveMetric)}
        statistics, widths = {}, []
        for name, predicted in predictions.items():
            parts = [metric.statistics(gold, predicted) for metric in additive.values()]
            widths = [part.shape[1] for part in parts]
            statistics[name] = np.concatenate([np.empty((len(gold), 0)), *parts], axis=1)[None]
        measures = Measure.side_by_side(widths, {key: metric.aggregate for key, metric in additive.items()})
        return cls(statistics, measures, gold, predictions, kinds, unscored)

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.statistics)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.kinds or self.measures)

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """System -> metric -> score."""
        return {name: {key: self._score(name, key) for key in self.metrics} for name in self.systems}

    def _score(self, system: str, metric: str) -> float:
        if (system, metric) in self.unscored:
            return np.nan
        if metric in self.kinds:
            return self.kinds[metric].score(self.gold, self.predictions[system])
        return float(self.measures[metric].aggregate(self.runs(system, metric).sum(axis=(0, 1))))

    def runs(self, system: str, metric: str) -> FloatArray:
        return self.statistics[system][..., self.measures[metric].columns]

    def ranked(self, metric: str) -> RankedMetric | None:
        """The metric, if it is no function of sums."""
        kind = self.kinds.get(metric)
        return kind if isinstance(kind, RankedMetric) else None

    def resampled_runs(
        self, levels: Levels, samples: int, seed: int, progress: Progress = silent
    ) -> Iterator[tuple[str, FloatArray]]:
        """Each system, and the (runs, samples, k) sums of its statistics over virtual test sets."""
        for done, (name, runs) in enumerate(self.statistics.items()):
            progress("bootstrap", done, len(self.statistics))
            yield name, unstack(levels.sums(stack(runs), samples, seed), len(runs))

    def resampled(
        self, levels: Levels, samples: int, seed: int, progress: Progress = silent
    ) -> VirtualScores:
        """Scores of every system by every metric, all on the same virtual test sets."""
        scores: dict[tuple[str, str], FloatArray] = {}
        for name, sums in self.resampled_runs(levels, samples, seed, progress) if self.measures else ():
            scores |= {(name, metric): self.pooled(sums, metric) for metric in self.measures}
        ranked = {key: kind for key in self.kinds if (kind := self.ranked(key))}
        scores |= {(name, key): np.empty(samples) for name in self.predictions for key in ranked}
        for first, last in sample_blocks(samples, 8 * levels.segments, samples) if ranked else ():
            counts = levels.counts(seed, first, last)
            for key, metric in ranked.items():
                for name, predicted in self.predictions.items():
                    scores[name, key][first:last] = metric.resample(self.gold, predicted, counts)
            progress("resampling", last, samples)
        return {key: values for key, values in scores.items() if key not in self.unscored}

    def pooled(self, sums: FloatArray, metric: str) -> FloatArray:
        """(samples,) scores of all runs together, from (runs, samples, k) sums."""
        measure = self.measures[metric]
        return measure.aggregate(sums[..., measure.columns].sum(axis=0))

    def leave_one_out(self, system: str, metric: str, groups: Groups | None) -> FloatArray:
        """(u,) scores without each group, or without each segment (or block of segments)."""
        if (ranked := self.ranked(metric)) is not None:
            n, predicted = len(self.gold), self.predictions[system]
            index = None if groups is None else group_index(groups, n)[0].astype(np.int32)
            return jackknife_rescored(partial(ranked.resample, self.gold, predicted), n, index)
        sums = group_sums(self.runs(system, metric), groups).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = jackknife_scores(sums, self.measures[metric].aggregate)
        return np.full(len(scores), np.nan) if (system, metric) in self.unscored else scores

    def exchanged(
        self, system: str, baseline: str, settings: ResamplingSettings, groups: Groups | None,
        exchange: Exchange = "segment",
    ) -> dict[str, TestResult]:  # fmt: skip
        """Metric -> randomization test of the difference of two systems.

        Metrics that exchange sums share the shuffles; the others rescore every exchange exactly.
        """
        rescored = {key: kind for key, kind in self.kinds.items() if isinstance(kind, ExchangedMetric)}
        sides, measures = [self.statistics[name] for name in (system, baseline)], self.measures
        if rescored:
            shared = {key: measure for key, measure in measures.items() if key not in rescored}
            columns = [measure.columns for measure in shared.values()]
            sides = [np.concatenate([side[..., c] for c in columns] or [side[..., :0]], -1) for side in sides]
            widths = [each.stop - each.start for each in columns]
            measures = Measure.side_by_side(widths, {key: each.aggregate for key, each in shared.items()})
        options: dict[str, Any] = {
            "samples": settings.samples or 0, "seed": settings.seed, "tail": settings.tail, "groups": groups,
        }  # fmt: skip
        results = {}
        if measures:
            results = randomization_tests(sides[0], sides[1], measures, exchange=exchange, **options)
        scale = max(1.0, float(np.abs(self.gold).max(initial=0.0)))
        for name, metric in rescored.items():
            own, other = (metric.on_common_scale(self.predictions[s]) for s in (system, baseline))
            result = randomization_test_rescored(
                partial(metric.exchanged, self.gold, own, other), own != other,
                enough=max(_ENOUGH, options["samples"] // 20), scale=scale, **options,
            )  # fmt: skip
            difference = self.scores[system][name] - self.scores[baseline][name]
            results[name] = replace(result, difference=difference, test=metric.exchange_name)
        return results

    def permuted(
        self, metric: str, systems: tuple[str, ...], settings: ResamplingSettings, groups: Groups | None
    ) -> TestsOfPairs:
        """The tests of all pairs of systems at once."""
        options: dict[str, Any] = {
            "samples": settings.samples or 0, "seed": settings.seed, "groups": groups,
            "contrasts": ALL_AT_ONCE[settings.test],
        }  # fmt: skip
        if (ranked := self.ranked(metric)) is None:
            runs = {name: self.runs(name, metric) for name in systems}
            aggregate = self.measures[metric].aggregate
            return tukey_hsd(runs, aggregate, exchange=settings.exchanges[0], **options)
        gold = np.tile(self.gold, len(systems))
        ranks = np.concatenate([ranked.on_common_scale(self.predictions[name]) for name in systems])
        return tukey_hsd_rescored(partial(ranked.resample, gold, ranks), systems, len(self.gold), **options)

    def differ(self, system: str, baseline: str, metric: str) -> BoolArray:
        """(n,) whether two systems differ on a segment, as the metric sees it."""
        if self.predictions:
            return np.asarray(self.predictions[system] != self.predictions[baseline])
        sums = [self.runs(name, metric).sum(axis=0) for name in (system, baseline)]
        return np.asarray((sums[0] != sums[1]).any(axis=1))

    def copies(self) -> dict[str, str]:
        """Each system -> the first one that has the same outputs."""
        return copies_of(self.predictions or self.statistics)

    def part(self, rows: Rows) -> "Scored":
        if not self.predictions:
            return replace(self, statistics={name: runs[:, rows] for name, runs in self.statistics.items()})
        predictions = {name: values[rows] for name, values in self.predictions.items()}
        return Scored.from_predictions(self.gold[rows], predictions, self.kinds, self.unscored)


_METHODS: Mapping[str, Method] = {"bootstrap": "centred", "win-ratio": "win-ratio", "shifted": "shifted"}


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Scored systems, compared; virtual test sets are drawn on first use unless `computed` has them."""

    scored: Scored
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
            by_unit = []
            for exchange in exchanges or self.settings.exchanges:
                for level, groups in [("run", None)] if exchange == "run" else self.levels.items():
                    found = self.scored.exchanged(system, baseline, self.settings, groups, exchange)
                    by_unit.append({metric: with_units(item, level) for metric, item in found.items()})
            results = {m: largest_p([item[m] for item in by_unit]) for m in self.scored.metrics}
        return {metric: self._defined((system, baseline, metric), item) for metric, item in results.items()}

    def _defined(self, key: Key, result: TestResult) -> TestResult:
        if np.isnan(self.difference(*key)):
            return replace(result, difference=np.nan, p=np.nan, error=np.nan)
        return result

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
        name = ALL_PAIRS[ALL_AT_ONCE[self.settings.test]]
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
            tested |= {(b, a): replace(one, difference=-one.difference) for (a, b), one in tested.items()}
            same = TestResult(0.0, 1.0, name, self.levels.reach.unit, 0, "two-sided", True)
            for a, b in pairs:
                result = same if first[a] == first[b] else tested[first[a], first[b]]
                results[a, b, metric] = self._defined((a, b, metric), result)
        self.progress("testing", len(self.scored.metrics), len(self.scored.metrics))
        return results

    def difference(self, system: str, baseline: str, metric: str) -> float:
        return self.scored.scores[system][metric] - self.scored.scores[baseline][metric]

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
        self, bootstrap: FloatArray, observed: float, jackknife: Sequence[FloatArray]
    ) -> tuple[float, float]:
        confidence = self.settings.confidence
        if self.settings.interval == "bca":
            return bca_interval(bootstrap, observed, jackknife[0], confidence)
        if self.settings.interval == "percentile":
            return percentile_interval(bootstrap, confidence)
        return jackknife_interval(observed, jackknife, confidence)

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
        table = comparison_table(self.engine.scored, pairs, self.better, self.table.settings)
        keys = [*table.copies, *table.twins, *(key for keys in table.members.values() for key in keys)]
        results = {}
        for a, b, metric in keys if self.results else ():
            result = self.results.get((a, b, metric))
            if result is None:
                reverse = self.results[b, a, metric]
                result = replace(reverse, difference=-reverse.difference)
            results[a, b, metric] = result
        return replace(self, table=table, results=results, tested=table.corrected(results) if results else {})

    def clusters(self) -> dict[str, list[list[str]]]:
        """Metric -> systems that no test separates, best first; without metrics that are undecided."""
        short = {key[2] for key in self.table.short_of_samples(self.tested)}
        groups = {}
        for metric, higher in self.better.items():
            pairs = [pair for pair in self.tested.values() if pair.metric == metric]
            if metric not in short and any(not np.isnan(pair.result.p) for pair in pairs):
                scores = {name: by_metric[metric] for name, by_metric in self.engine.scored.scores.items()}
                p_values = {pair.names: pair.p_corrected for pair in pairs}
                groups[metric] = clusters(best_first(scores, bool(higher)), p_values, LEVEL)
        return groups

    def equivalences(self, margins: Mapping[str, float], correction: str = "") -> list[Equivalence]:
        settings = self.engine.settings
        if correction:
            settings = replace(settings, test="ar", exchange=None, correct=correction)
        return equivalences(
            self.tested, self.engine.jackknife_differences, margins, self.better, self.engine.levels,
            settings, self.engine.scored.copies(),
        )  # fmt: skip


def compare(
    scored: Scored,
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
    table = comparison_table(scored, pairs, better, settings)
    if settings.samples is None:
        settings = replace(settings, samples=table.resamples())
    engine = Comparisons(scored, levels, settings, progress, computed)
    tests = engine.tests(pairs) if settings.samples else {}
    results = {key: result for key, result in tests.items() if key[2] in better}
    return Result(engine, better, table, results, table.corrected(results) if results else {})


def comparison_table(
    scored: Scored,
    pairs: Sequence[tuple[str, str]],
    better: Mapping[str, bool | None],
    settings: ResamplingSettings,
) -> Table:
    keys = [(*pair, metric) for metric in better for pair in pairs]
    undirected = [metric for metric, higher in better.items() if higher is None]
    return Table.from_keys(keys, settings, alike=scored.copies(), undirected=undirected)


def best_first(scores: Mapping[str, float], higher_is_better: bool) -> list[str]:
    """The systems by score, best first; undefined scores last, ties in the order given."""
    sign = -1 if higher_is_better else 1
    return sorted(scores, key=lambda name: (np.isnan(scores[name]), sign * scores[name]))
