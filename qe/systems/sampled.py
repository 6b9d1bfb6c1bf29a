"""Sampled: virtual test sets and exchanges that systems and metrics share, and what they say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.progress import Progress
from qe.statistics.bootstrap import Method, apart, beside, bootstrap_test
from qe.statistics.equivalence import Equivalence, equivalences
from qe.statistics.family import Judged, Key, Rule, Table, copies_of
from qe.statistics.groups import Groups, group_sums
from qe.statistics.instability import from_scores, spread
from qe.statistics.intervals import (
    bca_interval,
    jackknife_interval,
    jackknife_scores,
    percentile_interval,
)
from qe.statistics.levels import Levels
from qe.statistics.randomization import randomization_tests
from qe.statistics.ranks import RankInterval, rank_intervals
from qe.statistics.result import Aggregate, Measure, TestResult, at_every_level, with_units
from qe.systems.results import Span, SystemScore
from qe.systems.settings import ResamplingSettings
from qe.systems.text_metric import TextMetric

_METHODS: dict[str, Method] = {"bootstrap": "centred", "win-ratio": "win-ratio", "shifted": "shifted"}


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Bootstrap scores of one system by one metric: (runs, samples) and, pooled, (samples,); s_sel.

    NaN with one unit of any level: every virtual test set is the real one, and says nothing of the spread.
    """

    runs: FloatArray
    pooled: FloatArray
    s_sel: float


@dataclass(frozen=True, eq=False)
class Sampled:
    """All statistics, and the virtual test sets that systems and metrics share (`draw`)."""

    statistics: Mapping[str, FloatArray]
    measures: Mapping[str, Measure]
    drawn: Mapping[tuple[str, str], _Drawn]
    samples: int
    settings: ResamplingSettings
    levels: Levels

    def score(self, system: str, metric: str, dev_scores: FloatArray | None) -> SystemScore:
        runs, aggregate = self._runs(system, metric), self.measures[metric].aggregate
        drawn = self.drawn[system, metric].runs
        summary = replace(
            from_scores(runs, aggregate, drawn, dev_scores), s_sel=self.drawn[system, metric].s_sel
        )
        mean: FloatArray = drawn.mean(axis=0)

        def left_out(groups: Groups | None) -> FloatArray:
            units = group_sums(runs, groups)
            scores: FloatArray = np.mean([jackknife_scores(run, aggregate) for run in units], axis=0)
            return scores

        return SystemScore(summary, self._interval(mean, summary.mean, left_out), mean)

    def tests(self, system: str, baseline: str) -> dict[str, TestResult]:
        """Metric -> test of the difference of pooled scores."""
        settings = self.settings
        if settings.test == "ar":
            return self._exchanged(system, baseline, settings.exchanges)
        return {
            metric: bootstrap_test(
                self.drawn[system, metric].pooled, self.drawn[baseline, metric].pooled,
                self._difference(system, baseline, metric), method=_METHODS[settings.test],
                tail=settings.tail, resampled=" and ".join(name for name, _ in self.levels.each()),
                units=self._differing(system, baseline, metric),
            )
            for metric in self.measures
        }  # fmt: skip

    def _exchanged(self, system: str, baseline: str, exchanges: Sequence[str]) -> dict[str, TestResult]:
        """Metric -> the largest p of all units of exchange, and of all levels of groups."""
        a, b = self.statistics[system], self.statistics[baseline]
        by_level = []
        for unit in exchanges:
            for name, groups in [("run", None)] if unit == "run" else self.levels.each():
                by_metric = randomization_tests(
                    a, b, self.measures, exchange=unit, samples=self.samples,  # type: ignore[arg-type]
                    seed=self.settings.seed, tail=self.settings.tail, groups=groups,
                )  # fmt: skip
                by_level.append({m: with_units(r, name) for m, r in by_metric.items()})
        return {metric: at_every_level([results[metric] for results in by_level]) for metric in self.measures}

    def other_claims(self, system: str, baseline: str) -> dict[str, dict[str, TestResult]]:
        """Unit of exchange that was not asked for -> metric -> result; nothing for one run each."""
        runs = [len(self.statistics[name]) for name in (system, baseline)]
        if self.settings.test != "ar" or max(runs) == 1:
            return {}
        units = ("segment", "segment-run", "run") if runs[0] == runs[1] else ("run",)
        others = [unit for unit in units if unit not in self.settings.exchanges]
        return {unit: self._exchanged(system, baseline, [unit]) for unit in others}

    def equivalences(
        self, judged: Mapping[Key, Judged], margins: Mapping[str, float], metrics: Mapping[str, TextMetric]
    ) -> dict[Key, Equivalence]:
        """Two one-sided tests of every comparison by a metric with a margin."""

        def left_out(key: Key) -> list[FloatArray]:
            return [self.difference_left_out(*key, groups) for _, groups in self.levels.each()]

        better = {name: metric.higher_is_better for name, metric in metrics.items()}
        rule = Rule(self.settings.family, self.settings.correct)
        alike = copies_of(self.statistics)
        pairs = equivalences(judged, left_out, margins, better, self.levels, rule, alike)
        return {(pair.system, pair.baseline, pair.metric): pair for pair in pairs}

    def ranks(
        self, metrics: Mapping[str, TextMetric], progress: Progress
    ) -> dict[str, dict[str, RankInterval]]:
        """Rank intervals by every metric with a direction, from the tests of all pairs."""
        names = list(self.statistics)
        directed = {name: metric for name, metric in metrics.items() if metric.higher_is_better is not None}
        table = all_pairs(self.statistics, directed, self.settings)
        pairs = list(combinations(names, 2))
        results: dict[Key, TestResult] = {}
        for done, (a, b) in enumerate(pairs):
            progress("ranking", done, len(pairs))
            results |= {(a, b, metric): r for metric, r in self.tests(a, b).items() if metric in directed}
        judged = table.judge(results)
        intervals = {}
        for metric, kind in directed.items():
            sign = 1.0 if kind.higher_is_better else -1.0
            gains = {
                key[:2]: (sign * one.result.difference, one.p_corrected)
                for key, one in judged.items()
                if key[2] == metric
            }
            drawn = {name: sign * self.drawn[name, metric].pooled for name in names}
            intervals[metric] = rank_intervals(names, gains, drawn, round(1 - self.settings.confidence, 12))
        return intervals

    def _differing(self, system: str, baseline: str, metric: str) -> int:
        """Units in which the runs together differ, of the level where these are fewest."""
        own, other = (self._runs(name, metric).sum(axis=0) for name in (system, baseline))
        sums = [group_sums((own - other)[None], groups)[0] for _, groups in self.levels.each()]
        return min(int((level != 0).any(axis=1).sum()) for level in sums)

    def interval_of_difference(self, system: str, baseline: str, metric: str) -> Span:
        drawn = self.drawn[system, metric].pooled - self.drawn[baseline, metric].pooled
        left_out = partial(self.difference_left_out, system, baseline, metric)
        return self._interval(drawn, self._difference(system, baseline, metric), left_out)

    def difference_left_out(
        self, system: str, baseline: str, metric: str, groups: Groups | None
    ) -> FloatArray:
        """Differences of pooled scores with each segment, or group, left out."""
        sides = [group_sums(self._runs(name, metric), groups).sum(axis=0) for name in (system, baseline)]
        own, other = (jackknife_scores(side, self.measures[metric].aggregate) for side in sides)
        return own - other

    def pooled(self, system: str, metric: str) -> float:
        """The score of all runs together."""
        return float(self.measures[metric].aggregate(self._runs(system, metric).sum(axis=(0, 1))))

    def _runs(self, system: str, metric: str) -> FloatArray:
        return self.statistics[system][..., self.measures[metric].columns]

    def _difference(self, system: str, baseline: str, metric: str) -> float:
        return self.pooled(system, metric) - self.pooled(baseline, metric)

    def _interval(
        self, drawn: FloatArray, observed: float, left_out: Callable[[Groups | None], FloatArray]
    ) -> Span:
        confidence = self.settings.confidence
        if self.settings.interval == "bca":
            return bca_interval(drawn, observed, left_out(self.levels.single), confidence)
        if self.settings.interval == "jackknife":
            return jackknife_interval(observed, [left_out(g) for _, g in self.levels.each()], confidence)
        return percentile_interval(drawn, confidence)


def all_pairs(
    statistics: Mapping[str, FloatArray], metrics: Mapping[str, TextMetric], settings: ResamplingSettings
) -> Table:
    """The comparisons of all pairs, by the metrics that have a direction."""
    pairs = list(combinations(statistics, 2))
    directed = [name for name, metric in metrics.items() if metric.higher_is_better is not None]
    keys = [(a, b, metric) for a, b in pairs for metric in directed]
    return Table.of(keys, Rule(settings.family, settings.correct), alike=copies_of(statistics))


def draw(
    statistics: Mapping[str, FloatArray],
    measures: Mapping[str, Measure],
    samples: int,
    seed: int,
    levels: Levels,
    progress: Progress,
) -> dict[tuple[str, str], _Drawn]:
    """Bootstrap scores of every system and metric, all on the same virtual test sets."""
    drawn: dict[tuple[str, str], _Drawn] = {}
    for done, (name, runs) in enumerate(statistics.items()):
        progress("bootstrap", done, len(statistics))
        sums = apart(levels.sums(beside(runs), samples, seed), len(runs))
        units = None if levels.crossed else group_sums(runs, levels.single)
        for metric, measure in measures.items():
            part, aggregate = sums[..., measure.columns], measure.aggregate
            known = 1.0 if levels.smallest > 1 else np.nan
            scores = known * aggregate(part)
            spreads = [
                spread(scores[r])
                if units is None
                else _selection_spread(units[r][:, measure.columns], part[r], scores[r], aggregate)
                for r in range(len(runs))
            ]
            pooled = known * aggregate(part.sum(axis=0))
            drawn[name, metric] = _Drawn(scores, pooled, float(np.mean(spreads)))
    return drawn


def _selection_spread(units: FloatArray, sums: FloatArray, scores: FloatArray, aggregate: Aggregate) -> float:
    """Bootstrap standard deviation of one run's score, steadied by a control variate.

    The score is nearly linear in the sums; the variance of its linear part is known exactly, so the ratio of
    the drawn variances corrects what chance did to the draws. 10,000 samples then count like a million.
    Source: Efron and Tibshirani 1993, chapter 23.
    """
    plain = spread(scores)
    total = units.sum(axis=0)
    steps = np.diag(1e-4 * np.maximum(np.abs(total), 1))
    gradient = (aggregate(total + steps) - aggregate(total - steps)) / (2 * steps.diagonal())
    linear = spread(sums @ gradient)
    if not np.isfinite(gradient).all() or not linear > 0:
        return plain
    exact = float(np.sqrt(np.var(units @ gradient) * len(units)))
    return plain * exact / linear
