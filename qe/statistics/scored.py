"""Systems on the same segments, by metrics of sums (in one or more runs) or of all predictions at once."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.progress import Progress, silent
from qe.statistics.bootstrap import stack, unstack
from qe.statistics.draws import sample_blocks
from qe.statistics.family import copies_of
from qe.statistics.intervals import jackknife_rescored, jackknife_scores
from qe.statistics.levels import Groups, Levels, group_index, group_sums
from qe.statistics.metric import AdditiveMetric, ExchangedMetric, Metric, RankedMetric
from qe.statistics.randomization import Exchange, randomization_test_rescored, randomization_tests
from qe.statistics.result import Measure, TestResult
from qe.statistics.settings import ALL_AT_ONCE, ResamplingSettings
from qe.statistics.tukey import TestsOfPairs, tukey_hsd, tukey_hsd_rescored

VirtualScores = Mapping[tuple[str, str], FloatArray]
"""(system, metric) -> (samples,) scores of virtual test sets."""
Rows = NDArray[np.int64]
_ENOUGH = 100  # extreme shuffles after which a ranking metric's test may stop; more with many samples


@dataclass(frozen=True, eq=False)
class Additive:
    """Systems by metrics that are functions of sums; the runs of a system are scored together.

    statistics  system -> (runs, n, k), the statistics of all metrics side by side
    measures    metric -> its columns, and the score of their sums
    """

    statistics: Mapping[str, FloatArray]
    measures: Mapping[str, Measure]

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.statistics)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.measures)

    def score(self, system: str, metric: str) -> float:
        return float(self.measures[metric].aggregate(self.runs(system, metric).sum(axis=(0, 1))))

    def runs(self, system: str, metric: str) -> FloatArray:
        return self.statistics[system][..., self.measures[metric].columns]

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
        return {
            (name, metric): self.pooled(sums, metric)
            for name, sums in self.resampled_runs(levels, samples, seed, progress)
            for metric in self.measures
        }

    def pooled(self, sums: FloatArray, metric: str) -> FloatArray:
        """(samples,) scores of all runs together, from (runs, samples, k) sums."""
        measure = self.measures[metric]
        return measure.aggregate(sums[..., measure.columns].sum(axis=0))

    def leave_one_out(self, system: str, metric: str, groups: Groups | None) -> FloatArray:
        """(u,) scores without each group, or without each segment (or block of segments)."""
        sums = group_sums(self.runs(system, metric), groups).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return jackknife_scores(sums, self.measures[metric].aggregate)

    def exchanged(
        self, system: str, baseline: str, settings: ResamplingSettings, groups: Groups | None,
        exchange: Exchange = "segment",
    ) -> dict[str, TestResult]:  # fmt: skip
        """Metric -> randomization test of the difference of two systems."""
        return randomization_tests(
            self.statistics[system], self.statistics[baseline], self.measures,
            exchange=exchange, samples=settings.samples or 0, seed=settings.seed, tail=settings.tail,
            groups=groups,
        )  # fmt: skip

    def permuted(
        self, metric: str, systems: tuple[str, ...], settings: ResamplingSettings, groups: Groups | None
    ) -> TestsOfPairs:
        return tukey_hsd(
            {name: self.runs(name, metric) for name in systems}, self.measures[metric].aggregate,
            samples=settings.samples or 0, seed=settings.seed, groups=groups,
            contrasts=ALL_AT_ONCE[settings.test], exchange=settings.exchanges[0],
        )  # fmt: skip

    def differ(self, system: str, baseline: str, metric: str) -> BoolArray:
        """(n,) whether two systems differ on a segment, as the metric sees it."""
        sums = [self.runs(name, metric).sum(axis=0) for name in (system, baseline)]
        return np.asarray((sums[0] != sums[1]).any(axis=1))

    def copies(self) -> dict[str, str]:
        return copies_of(self.statistics)

    def part(self, rows: Rows) -> "Additive":
        return Additive({name: runs[:, rows] for name, runs in self.statistics.items()}, self.measures)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Gold labels (n,) and predictions (n,) of QE systems, oriented: higher is better.

    kinds     metric -> what computes it: an additive or a ranked one
    unscored  (system, metric) that cannot be computed, such as errors of a mere ranking
    """

    gold: FloatArray
    predictions: Mapping[str, FloatArray]
    kinds: Mapping[str, Metric]
    unscored: Collection[tuple[str, str]] = ()

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.predictions)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """System -> metric -> score."""
        return {
            name: {
                key: np.nan if (name, key) in self.unscored else metric.score(self.gold, predicted)
                for key, metric in self.kinds.items()
            }
            for name, predicted in self.predictions.items()
        }

    def score(self, system: str, metric: str) -> float:
        return self.scores[system][metric]

    @property
    def ranked(self) -> dict[str, RankedMetric]:
        """The metrics that are no function of sums."""
        return {key: metric for key, metric in self.kinds.items() if isinstance(metric, RankedMetric)}

    @cached_property
    def additive(self) -> Additive:
        """The metrics of sums: their statistics side by side."""
        return self._statistics(RankedMetric)

    @cached_property
    def _exchanged_by_sums(self) -> Additive:
        return self._statistics(ExchangedMetric)

    def _statistics(self, excluded: type) -> Additive:
        kinds = {
            key: metric
            for key, metric in self.kinds.items()
            if isinstance(metric, AdditiveMetric) and not isinstance(metric, excluded)
        }
        parts = {
            name: [np.empty((len(self.gold), 0)), *(m.statistics(self.gold, side) for m in kinds.values())]
            for name, side in self.predictions.items()
        }
        widths = [part.shape[1] for part in next(iter(parts.values()))]
        return Additive(
            {name: np.concatenate(part, axis=1)[None] for name, part in parts.items()},
            Measure.side_by_side(widths[1:], {key: metric.aggregate for key, metric in kinds.items()}),
        )

    def resampled(
        self, levels: Levels, samples: int, seed: int, progress: Progress = silent
    ) -> VirtualScores:
        scores = dict(self.additive.resampled(levels, samples, seed)) if self.additive.measures else {}
        scores |= {(name, key): np.empty(samples) for name in self.predictions for key in self.ranked}
        for first, last in sample_blocks(samples, 8 * levels.segments, samples) if self.ranked else ():
            counts = levels.counts(seed, first, last)
            for key, metric in self.ranked.items():
                for name, predicted in self.predictions.items():
                    scores[name, key][first:last] = metric.resample(self.gold, predicted, counts)
            progress("resampling", last, samples)
        return {key: values for key, values in scores.items() if key not in self.unscored}

    def leave_one_out(self, system: str, metric: str, groups: Groups | None) -> FloatArray:
        kind = self.kinds[metric]
        if not isinstance(kind, RankedMetric):
            defined = np.nan if (system, metric) in self.unscored else 1.0
            return defined * self.additive.leave_one_out(system, metric, groups)
        n, predicted = len(self.gold), self.predictions[system]
        index = None if groups is None else group_index(groups, n)[0].astype(np.int32)
        return jackknife_rescored(partial(kind.resample, self.gold, predicted), n, index)

    def exchanged(
        self, system: str, baseline: str, settings: ResamplingSettings, groups: Groups | None,
        exchange: Exchange = "segment",
    ) -> dict[str, TestResult]:  # fmt: skip
        """Metrics that exchange sums share the shuffles; the others rescore every exchange exactly."""
        sums = self._exchanged_by_sums
        results = sums.exchanged(system, baseline, settings, groups) if sums.measures else {}
        for name, metric in self.kinds.items():
            if isinstance(metric, ExchangedMetric):
                own, other = (metric.on_common_scale(self.predictions[s]) for s in (system, baseline))
                samples = settings.samples or 0
                result = randomization_test_rescored(
                    partial(metric.exchanged, self.gold, own, other), own != other,
                    samples=samples, seed=settings.seed, tail=settings.tail, groups=groups,
                    enough=max(_ENOUGH, samples // 20), scale=max(1.0, float(np.abs(self.gold).max())),
                )  # fmt: skip
                difference = self.score(system, name) - self.score(baseline, name)
                results[name] = replace(result, difference=difference, test=metric.exchange_name)
        return results

    def permuted(
        self, metric: str, systems: tuple[str, ...], settings: ResamplingSettings, groups: Groups | None
    ) -> TestsOfPairs:
        kind = self.kinds[metric]
        if not isinstance(kind, RankedMetric):
            return self.additive.permuted(metric, systems, settings, groups)
        gold = np.tile(self.gold, len(systems))
        ranked = np.concatenate([kind.on_common_scale(self.predictions[name]) for name in systems])
        return tukey_hsd_rescored(
            lambda counts: kind.resample(gold, ranked, counts), systems, len(self.gold),
            samples=settings.samples or 0, seed=settings.seed, groups=groups,
            contrasts=ALL_AT_ONCE[settings.test],
        )  # fmt: skip

    def differ(self, system: str, baseline: str, metric: str) -> BoolArray:
        """(n,) whether the predictions of two systems differ on a segment."""
        return np.asarray(self.predictions[system] != self.predictions[baseline])

    def copies(self) -> dict[str, str]:
        return copies_of(self.predictions)

    def part(self, rows: Rows) -> "Predictions":
        return replace(
            self, gold=self.gold[rows], predictions={k: v[rows] for k, v in self.predictions.items()}
        )
