"""Systems by metrics that are functions of sums over segments, in one or more runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from features.basics.progress import Progress, silent
from qe.statistics.bootstrap import apart, beside
from qe.statistics.family import copies_of
from qe.statistics.groups import Groups, group_sums
from qe.statistics.intervals import jackknife_scores
from qe.statistics.levels import Levels
from qe.statistics.randomization import randomization_tests
from qe.statistics.result import Measure, TestResult
from qe.statistics.scored import Drawn, Draws, Rows, Scored
from qe.statistics.tukey import Pairs, tukey_hsd


@dataclass(frozen=True, eq=False)
class Additive(Scored):
    """Statistics of all metrics side by side; the runs of a system are scored together.

    statistics  system -> (runs, n, k)
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
        """(runs, n, k') the statistics of one metric."""
        return self.statistics[system][..., self.measures[metric].columns]

    def resampled_runs(
        self, levels: Levels, samples: int, seed: int, progress: Progress = silent
    ) -> Iterator[tuple[str, FloatArray]]:
        """Each system, and the (runs, samples, k) sums of its statistics over virtual test sets."""
        for done, (name, runs) in enumerate(self.statistics.items()):
            progress("bootstrap", done, len(self.statistics))
            yield name, apart(levels.sums(beside(runs), samples, seed), len(runs))

    def resampled(self, levels: Levels, samples: int, seed: int, progress: Progress = silent) -> Drawn:
        return {
            (name, metric): self.pooled(sums, metric)
            for name, sums in self.resampled_runs(levels, samples, seed, progress)
            for metric in self.measures
        }

    def pooled(self, sums: FloatArray, metric: str) -> FloatArray:
        """(samples,) scores of all runs together, from (runs, samples, k) sums."""
        measure = self.measures[metric]
        return measure.aggregate(sums[..., measure.columns].sum(axis=0))

    def left_out(self, system: str, metric: str, groups: Groups | None) -> FloatArray:
        sums = group_sums(self.runs(system, metric), groups).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return jackknife_scores(sums, self.measures[metric].aggregate)

    def exchanged(self, system: str, baseline: str, draws: Draws) -> dict[str, TestResult]:
        return randomization_tests(
            self.statistics[system], self.statistics[baseline], self.measures,
            exchange=draws.exchange, samples=draws.samples, seed=draws.seed, tail=draws.tail,
            groups=draws.groups,
        )  # fmt: skip

    def dealt(self, metric: str, systems: tuple[str, ...], draws: Draws) -> Pairs:
        return tukey_hsd(
            {name: self.runs(name, metric) for name in systems}, self.measures[metric].aggregate,
            samples=draws.samples, seed=draws.seed, groups=draws.groups, contrasts=draws.contrasts,
            exchange=draws.exchange,
        )  # fmt: skip

    def differ(self, system: str, baseline: str, metric: str) -> BoolArray:
        own, other = (self.runs(name, metric).sum(axis=0) for name in (system, baseline))
        return np.asarray((own != other).any(axis=1))

    def copies(self) -> dict[str, str]:
        return copies_of(self.statistics)

    def part(self, rows: Rows) -> "Additive":
        return Additive({name: runs[:, rows] for name, runs in self.statistics.items()}, self.measures)
