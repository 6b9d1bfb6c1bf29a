"""Pairs of QE systems: bootstrap scores on shared virtual test sets, and the tests of all pairs."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress
from features.basics.threads import cores
from features.basics.undefined import or_none
from qe.statistics.bootstrap import NAMES, bootstrap_test
from qe.statistics.family import Key, reversed_result
from qe.statistics.groups import Groups, group_index, group_sums
from qe.statistics.intervals import jackknife_rescored, jackknife_scores
from qe.statistics.levels import Levels
from qe.statistics.metric import METRICS, AdditiveMetric, ExchangedMetric, Metric, RankedMetric
from qe.statistics.randomization import NAME as RANDOMIZATION
from qe.statistics.randomization import randomization_test_rescored, randomization_tests
from qe.statistics.reach import Tail
from qe.statistics.result import Measure, TestResult, at_every_level, with_units
from qe.statistics.tukey import NAME as TUKEY
from qe.statistics.tukey import Pairs, tukey_hsd, tukey_hsd_rescored

Test = Literal["ar", "bootstrap", "tukey"]
TESTS = dict(zip(get_args(Test), (RANDOMIZATION, NAMES["centred"], TUKEY), strict=True))
CONFIDENCE = 0.95

_ENOUGH = 100  # extreme shuffles after which a ranking metric's test may stop; more with many samples


def json_name(metric: str) -> str:
    """What a metric is called in JSON reports."""
    return (METRICS.get(metric).json_key if metric in METRICS.names else "") or metric


def check_test(test: str) -> None:
    """Raises InputError for a test that is not known."""
    if test not in TESTS:
        raise unknown_name("test", test, TESTS)


@dataclass(frozen=True)
class Comparison:
    """One pair of systems on one metric; `difference` is system minus baseline, `ci` its interval."""

    system: str
    baseline: str
    metric: str
    result: TestResult
    p_corrected: float
    ci: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "baseline": self.baseline,
            "metric": json_name(self.metric),
            **self.result.to_json(),
            "p_corrected": or_none(self.p_corrected),
            "ci": [or_none(bound) for bound in self.ci],
        }


Drawn = dict[tuple[str, str], FloatArray]
"""(system, metric) -> (samples,) bootstrap scores."""
LeftOut = dict[tuple[str, str], list[FloatArray]]
"""(system, metric) -> per level of units, the scores with one unit left out."""


def bootstrap(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    metrics: Mapping[str, Metric],
    samples: int,
    seed: int,
    groups: Groups | Levels | None,
    progress: Progress,
) -> Drawn:
    """Scores every system and metric on the same virtual test sets, in blocks of bounded memory."""
    levels = Levels.of(groups, len(gold))
    ranked = {key: metric for key, metric in metrics.items() if isinstance(metric, RankedMetric)}
    additive = {key: _additive(metric) for key, metric in metrics.items() if key not in ranked}
    drawn = _bootstrap_additive(gold, predictions, additive, samples, seed, levels)
    drawn |= {(name, key): np.empty(samples) for name in predictions for key in ranked}
    for first, last in levels.blocks(samples) if ranked else ():
        counts = levels.counts(seed, first, last)
        for key, metric in ranked.items():
            for name, predicted in predictions.items():
                drawn[name, key][first:last] = metric.resample(gold, predicted, counts)
        progress("resampling", last, samples)
    return drawn


def _bootstrap_additive(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    metrics: Mapping[str, AdditiveMetric],
    samples: int,
    seed: int,
    levels: Levels,
) -> Drawn:
    """All systems and metrics side by side: one pass over the draws."""
    parts = {
        (name, key): metric.statistics(gold, predicted)
        for name, predicted in predictions.items()
        for key, metric in metrics.items()
    }
    if not parts:
        return {}
    sums = levels.sums(np.concatenate(list(parts.values()), axis=1), samples, seed)
    columns = np.split(sums, np.cumsum([part.shape[1] for part in parts.values()])[:-1], axis=1)
    return {
        (name, key): metrics[key].aggregate(column)
        for (name, key), column in zip(parts, columns, strict=True)
    }


def left_out(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    metrics: Mapping[str, Metric],
    levels: Levels,
    progress: Progress,
) -> LeftOut:
    """Scores every system and metric with each unit left out, at every level."""
    without: LeftOut = {}
    for done, (name, predicted) in enumerate(predictions.items()):
        progress("jackknife", done, len(predictions))
        for key, metric in metrics.items():
            without[name, key] = [_without(metric, gold, predicted, units) for _, units in levels.each()]
    return without


def _without(metric: Metric, gold: FloatArray, predicted: FloatArray, units: Groups | None) -> FloatArray:
    if isinstance(metric, RankedMetric):
        index = None if units is None else group_index(units, len(gold))[0].astype(np.int32)
        return jackknife_rescored(partial(metric.resample, gold, predicted), len(gold), index)
    additive = _additive(metric)
    sums = group_sums(additive.statistics(gold, predicted)[None], units)[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return jackknife_scores(sums, additive.aggregate)


def _additive(metric: Metric) -> AdditiveMetric:
    if not isinstance(metric, AdditiveMetric):
        raise TypeError(f"{type(metric).__name__} is neither an AdditiveMetric nor a RankedMetric")
    return metric


@dataclass(frozen=True, eq=False)
class Tester:
    """Tests pairs of systems by all metrics, at every level of units.

    scores  system -> metric -> score
    drawn   bootstrap scores of `samples` virtual test sets, where the test is the bootstrap
    tail    of the exchanges
    """

    gold: FloatArray
    predictions: Mapping[str, FloatArray]
    scores: Mapping[str, Mapping[str, float]]
    metrics: Mapping[str, Metric]
    drawn: Drawn
    samples: int
    seed: int
    test: str
    levels: Levels
    progress: Progress
    tail: Tail = "two-sided"

    def results(self, pairs: Sequence[tuple[str, str]]) -> dict[Key, TestResult]:
        """(system, baseline, metric) -> result, for every pair and metric."""
        if self.test == "tukey":
            return self._tukey(pairs)
        by_key: dict[Key, TestResult] = {}
        work = self.exchanged if self.test == "ar" else self._bootstrapped
        with ThreadPoolExecutor(cores()) as pool:
            results = pool.map(lambda pair: work(*pair), pairs)
            for done, (pair, by_metric) in enumerate(zip(pairs, results, strict=True)):
                self.progress("testing", done, len(pairs))
                by_key |= {(*pair, metric): by_metric[metric] for metric in self.metrics}
        self.progress("testing", len(pairs), len(pairs))
        return by_key

    def exchanged(self, a: str, b: str) -> dict[str, TestResult]:
        """Metric -> approximate randomization of one pair; the largest p of all levels."""
        at_levels = [self._exchanged_at(a, b, level, units) for level, units in self.levels.each()]
        return {metric: at_every_level([level[metric] for level in at_levels]) for metric in self.metrics}

    def _exchanged_at(self, a: str, b: str, level: str, units: Groups | None) -> dict[str, TestResult]:
        sides = self.predictions[a], self.predictions[b]
        results = self._additive_results(*sides, units)
        for name, metric in self.metrics.items():
            if isinstance(metric, ExchangedMetric):
                own, other = (metric.on_common_scale(side) for side in sides)
                result = randomization_test_rescored(
                    partial(metric.exchanged, self.gold, own, other),
                    own != other,
                    samples=self.samples,
                    seed=self.seed,
                    tail=self.tail,
                    groups=units,
                    enough=max(_ENOUGH, self.samples // 20),
                    scale=max(1.0, float(np.abs(self.gold).max())),
                )
                difference = self.scores[a][name] - self.scores[b][name]
                results[name] = replace(result, difference=difference, test=metric.exchange_name)
        return {name: with_units(result, level) for name, result in results.items()}

    def _additive_results(
        self, own: FloatArray, other: FloatArray, units: Groups | None
    ) -> dict[str, TestResult]:
        """Metrics whose sums are exchanged share the shuffles."""
        additive = {
            name: _additive(m) for name, m in self.metrics.items() if not isinstance(m, ExchangedMetric)
        }
        if not additive:
            return {}
        parts = [[m.statistics(self.gold, side) for m in additive.values()] for side in (own, other)]
        ends = np.cumsum([0, *(part.shape[1] for part in parts[0])])
        measures = {
            name: Measure(slice(int(ends[i]), int(ends[i + 1])), m.aggregate)
            for i, (name, m) in enumerate(additive.items())
        }
        a, b = (np.concatenate(side, axis=1) for side in parts)
        return randomization_tests(
            a, b, measures, samples=self.samples, seed=self.seed, tail=self.tail, groups=units
        )

    def _bootstrapped(self, a: str, b: str) -> dict[str, TestResult]:
        unit = " and ".join(name for name, _ in self.levels.each())
        changed = self.predictions[a] != self.predictions[b]
        differing = min(
            int(changed.sum()) if units is None else len({*np.asarray(units)[changed].tolist()})
            for _, units in self.levels.each()
        )
        return {
            metric: bootstrap_test(
                self.drawn[a, metric],
                self.drawn[b, metric],
                self.scores[a][metric] - self.scores[b][metric],
                resampled=unit,
                units=differing,
            )
            for metric in self.metrics
        }

    def _tukey(self, pairs: Sequence[tuple[str, str]]) -> dict[Key, TestResult]:
        results: dict[Key, TestResult] = {}
        for done, (name, metric) in enumerate(self.metrics.items()):
            self.progress("testing", done, len(self.metrics))
            every = self._tukey_of(metric) if pairs else {}
            for a, b in pairs:
                results[a, b, name] = every[a, b] if (a, b) in every else reversed_result(every[b, a])
        self.progress("testing", len(self.metrics), len(self.metrics))
        return results

    def _tukey_of(self, metric: Metric) -> Pairs:
        if self.levels.crossed:
            raise InputError(
                "Tukey's test takes one kind of units", remedy="give one --group, or use the test 'ar'"
            )
        names, units = tuple(self.predictions), self.levels.single
        if isinstance(metric, RankedMetric):
            gold = np.tile(self.gold, len(names))
            ranked = np.concatenate([metric.on_common_scale(v) for v in self.predictions.values()])
            return tukey_hsd_rescored(
                lambda counts: metric.resample(gold, ranked, counts), names, len(self.gold),
                samples=self.samples, seed=self.seed, groups=units,
            )  # fmt: skip
        additive = _additive(metric)
        return tukey_hsd(
            {name: additive.statistics(self.gold, values) for name, values in self.predictions.items()},
            additive.aggregate, samples=self.samples, seed=self.seed, groups=units,
        )  # fmt: skip
