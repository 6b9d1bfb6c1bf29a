"""Predictions: QE systems on the same segments, as the comparison engine takes them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.basics.progress import Progress, silent
from qe.statistics.additive import Additive
from qe.statistics.family import copies_of
from qe.statistics.groups import Groups, group_index
from qe.statistics.intervals import jackknife_rescored
from qe.statistics.levels import Levels
from qe.statistics.metric import AdditiveMetric, ExchangedMetric, Metric, RankedMetric
from qe.statistics.randomization import randomization_test_rescored
from qe.statistics.result import Measure, TestResult
from qe.statistics.scored import Drawn, Draws, Rows, Scored
from qe.statistics.tukey import Pairs, tukey_hsd_rescored

_ENOUGH = 100  # extreme shuffles after which a ranking metric's test may stop; more with many samples


@dataclass(frozen=True, eq=False)
class Predictions(Scored):
    """Gold labels (n,) and predictions (n,), oriented: higher is better.

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
        """The others: their statistics side by side."""
        kinds = {key: _additive(metric) for key, metric in self.kinds.items() if key not in self.ranked}
        return self._statistics(kinds)

    @cached_property
    def _exchanged_by_sums(self) -> Additive:
        kinds = {key: _additive(m) for key, m in self.kinds.items() if not isinstance(m, ExchangedMetric)}
        return self._statistics(kinds)

    def _statistics(self, kinds: Mapping[str, AdditiveMetric]) -> Additive:
        parts = {
            name: [metric.statistics(self.gold, predicted) for metric in kinds.values()]
            for name, predicted in self.predictions.items()
        }
        widths = [part.shape[1] for part in next(iter(parts.values()))]
        ends = np.cumsum([0, *widths])
        measures = {
            key: Measure(slice(int(ends[i]), int(ends[i + 1])), metric.aggregate)
            for i, (key, metric) in enumerate(kinds.items())
        }
        nothing = np.empty((len(self.gold), 0))
        return Additive(
            {name: np.concatenate([nothing, *part], axis=1)[None] for name, part in parts.items()}, measures
        )

    def resampled(self, levels: Levels, samples: int, seed: int, progress: Progress = silent) -> Drawn:
        """In blocks of bounded memory, as far as metrics are rescored."""
        drawn = dict(self.additive.resampled(levels, samples, seed)) if self.additive.measures else {}
        drawn |= {(name, key): np.empty(samples) for name in self.predictions for key in self.ranked}
        for first, last in levels.blocks(samples) if self.ranked else ():
            counts = levels.counts(seed, first, last)
            for key, metric in self.ranked.items():
                for name, predicted in self.predictions.items():
                    drawn[name, key][first:last] = metric.resample(self.gold, predicted, counts)
            progress("resampling", last, samples)
        return {key: scores for key, scores in drawn.items() if key not in self.unscored}

    def left_out(self, system: str, metric: str, groups: Groups | None) -> FloatArray:
        kind = self.kinds[metric]
        if not isinstance(kind, RankedMetric):
            known = np.nan if (system, metric) in self.unscored else 1.0
            return known * self.additive.left_out(system, metric, groups)
        n, predicted = len(self.gold), self.predictions[system]
        index = None if groups is None else group_index(groups, n)[0].astype(np.int32)
        return jackknife_rescored(partial(kind.resample, self.gold, predicted), n, index)

    def exchanged(self, system: str, baseline: str, draws: Draws) -> dict[str, TestResult]:
        """Tests all metrics by exchange.

        Metrics that exchange sums share the shuffles; the others rescore every exchange exactly.
        """
        summed = self._exchanged_by_sums
        results = summed.exchanged(system, baseline, draws) if summed.measures else {}
        for name, metric in self.kinds.items():
            if isinstance(metric, ExchangedMetric):
                results[name] = self._rescored(system, baseline, name, metric, draws)
        return results

    def _rescored(
        self, system: str, baseline: str, name: str, metric: ExchangedMetric, draws: Draws
    ) -> TestResult:
        own, other = (metric.on_common_scale(self.predictions[side]) for side in (system, baseline))
        result = randomization_test_rescored(
            partial(metric.exchanged, self.gold, own, other),
            own != other,
            samples=draws.samples,
            seed=draws.seed,
            tail=draws.tail,
            groups=draws.groups,
            enough=max(_ENOUGH, draws.samples // 20),
            scale=max(1.0, float(np.abs(self.gold).max())),
        )
        difference = self.score(system, name) - self.score(baseline, name)
        return replace(result, difference=difference, test=metric.exchange_name)

    def dealt(self, metric: str, systems: tuple[str, ...], draws: Draws) -> Pairs:
        kind = self.kinds[metric]
        if not isinstance(kind, RankedMetric):
            return self.additive.dealt(metric, systems, draws)
        gold = np.tile(self.gold, len(systems))
        ranked = np.concatenate([kind.on_common_scale(self.predictions[name]) for name in systems])
        return tukey_hsd_rescored(
            lambda counts: kind.resample(gold, ranked, counts), systems, len(self.gold),
            samples=draws.samples, seed=draws.seed, groups=draws.groups, contrasts=draws.contrasts,
        )  # fmt: skip

    def differ(self, system: str, baseline: str, metric: str) -> BoolArray:
        return np.asarray(self.predictions[system] != self.predictions[baseline])

    def copies(self) -> dict[str, str]:
        return copies_of(self.predictions)

    def part(self, rows: Rows) -> "Predictions":
        sides = {name: values[rows] for name, values in self.predictions.items()}
        return Predictions(self.gold[rows], sides, self.kinds, self.unscored)


def _additive(metric: Metric) -> AdditiveMetric:
    if not isinstance(metric, AdditiveMetric):
        raise TypeError(f"{type(metric).__name__} is neither an AdditiveMetric nor a RankedMetric")
    return metric
