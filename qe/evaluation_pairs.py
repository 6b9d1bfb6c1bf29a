"""Pairs of QE systems: bootstrap scores on shared virtual test sets, tests, corrections."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from features.core.progress import Progress
from qe.metrics._base import AdditiveMetric, Metric, RankedMetric
from qe.significance._sums import bootstrap_counts, bootstrap_sums
from qe.significance.bootstrap import NAMES, bootstrap_test
from qe.significance.corrections import correct
from qe.significance.groups import Groups, group_index, group_sums
from qe.significance.intervals import percentile_interval
from qe.significance.randomization import NAME as RANDOMIZATION
from qe.significance.randomization import randomization_test, randomization_test_rescored
from qe.significance.result import TestResult
from qe.significance.tukey import NAME as TUKEY
from qe.significance.tukey import Pairs, tukey_hsd, tukey_hsd_rescored

FloatArray = NDArray[np.float64]

Test = Literal["bootstrap", "ar", "tukey"]
TESTS = dict(zip(get_args(Test), (NAMES["centred"], RANDOMIZATION, TUKEY), strict=True))
CONFIDENCE = 0.95

_JSON_NAMES = {"large_error": "large_error_percent", "small_error": "small_error_percent"}
_BLOCK_BYTES = 1 << 26


def json_name(metric: str) -> str:
    """What a metric is called in JSON reports."""
    return _JSON_NAMES.get(metric, metric)


def plain(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else float(value)


def check_test(test: str) -> None:
    """Raises InputError for a test that is not known."""
    if test not in TESTS:
        raise InputError(f"unknown test '{test}'", remedy=f"known: {', '.join(TESTS)}")


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
            "p_corrected": plain(self.p_corrected),
            "ci": [plain(bound) for bound in self.ci],
        }


Drawn = dict[tuple[str, str], FloatArray]
"""(system, metric) -> (samples,) bootstrap scores."""


def bootstrap(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    metrics: Mapping[str, Metric],
    samples: int,
    seed: int,
    groups: Groups | None,
    progress: Progress,
) -> Drawn:
    """Scores every system and metric on the same virtual test sets, in blocks of bounded memory."""
    ranked = {key: metric for key, metric in metrics.items() if isinstance(metric, RankedMetric)}
    additive = {key: _additive(metric) for key, metric in metrics.items() if key not in ranked}
    drawn = _bootstrap_additive(gold, predictions, additive, samples, seed, groups)
    rows = len(gold)
    index, units = (None, rows) if groups is None else group_index(groups, rows)
    drawn |= {(name, key): np.empty(samples) for name in predictions for key in ranked}
    block = max(1, min(samples, _BLOCK_BYTES // (8 * rows))) if ranked else samples
    for first in range(0, samples, block):
        last = min(first + block, samples)
        if ranked:
            counts = bootstrap_counts(units, seed, first, last)
            counts = counts if index is None else counts[:, index]
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
    groups: Groups | None,
) -> Drawn:
    """All systems and metrics side by side: one pass over the draws."""
    parts = {
        (name, key): metric.statistics(gold, predicted)
        for name, predicted in predictions.items()
        for key, metric in metrics.items()
    }
    if not parts:
        return {}
    together = group_sums(np.concatenate(list(parts.values()), axis=1)[None], groups)[0]
    sums = bootstrap_sums(together, samples, seed)
    columns = np.split(sums, np.cumsum([part.shape[1] for part in parts.values()])[:-1], axis=1)
    return {
        (name, key): metrics[key].aggregate(column)
        for (name, key), column in zip(parts, columns, strict=True)
    }


def _additive(metric: Metric) -> AdditiveMetric:
    if not isinstance(metric, AdditiveMetric):
        raise TypeError(f"{type(metric).__name__} is neither an AdditiveMetric nor a RankedMetric")
    return metric


@dataclass(frozen=True)
class Comparer:
    """Makes comparisons of pairs from what was drawn."""

    gold: FloatArray
    predictions: Mapping[str, FloatArray]
    scores: Mapping[str, Mapping[str, float]]
    metrics: Mapping[str, Metric]
    drawn: Drawn
    samples: int
    seed: int
    test: str
    groups: Groups | None
    progress: Progress

    def pairs(self, pairs: Sequence[tuple[str, str]], correction: str) -> list[Comparison]:
        """All metrics for each pair; p-values corrected over the pairs of one metric."""
        found: list[Comparison] = []
        for done, metric in enumerate(self.metrics):
            self.progress("testing", done, len(self.metrics))
            results = self._results(pairs, metric)
            # Tukey's p already holds for all pairs together.
            method = "none" if self.test == "tukey" else correction
            adjusted = correct([result.p for result in results], method)
            for (a, b), result, p in zip(pairs, results, adjusted, strict=True):
                differences = self.drawn[a, metric] - self.drawn[b, metric]
                interval = percentile_interval(differences, CONFIDENCE)
                found.append(Comparison(a, b, metric, result, float(p), interval))
        self.progress("testing", len(self.metrics), len(self.metrics))
        return found

    def _results(self, pairs: Sequence[tuple[str, str]], metric: str) -> list[TestResult]:
        if self.test == "tukey":
            every = self._tukey(self.metrics[metric]) if pairs else {}
            return [every[a, b] if (a, b) in every else _reversed(every[b, a]) for a, b in pairs]
        if self.test == "ar":
            return [self._randomized(a, b, self.metrics[metric]) for a, b in pairs]
        return [self._bootstrapped(a, b, metric) for a, b in pairs]

    def _bootstrapped(self, a: str, b: str, metric: str) -> TestResult:
        difference = self.scores[a][metric] - self.scores[b][metric]
        unit = "segment" if self.groups is None else "group"
        return bootstrap_test(self.drawn[a, metric], self.drawn[b, metric], difference, resampled=unit)

    def _tukey(self, metric: Metric) -> Pairs:
        names = tuple(self.predictions)
        if isinstance(metric, RankedMetric):
            gold = np.tile(self.gold, len(names))
            ranked = np.concatenate([_ranks(values) for values in self.predictions.values()])
            return tukey_hsd_rescored(
                lambda counts: metric.resample(gold, ranked, counts), names, len(self.gold),
                samples=self.samples, seed=self.seed, groups=self.groups,
            )  # fmt: skip
        additive = _additive(metric)
        return tukey_hsd(
            {name: additive.statistics(self.gold, values) for name, values in self.predictions.items()},
            additive.aggregate, samples=self.samples, seed=self.seed, groups=self.groups,
        )  # fmt: skip

    def _randomized(self, a: str, b: str, metric: Metric) -> TestResult:
        own, other = self.predictions[a], self.predictions[b]
        if isinstance(metric, RankedMetric):
            gold = np.concatenate([self.gold, self.gold])
            ranked = np.concatenate([_ranks(own), _ranks(other)])
            return randomization_test_rescored(
                lambda counts: metric.resample(gold, ranked, counts),
                len(self.gold), samples=self.samples, seed=self.seed, groups=self.groups,
            )  # fmt: skip
        additive = _additive(metric)
        return randomization_test(
            additive.statistics(self.gold, own), additive.statistics(self.gold, other), additive.aggregate,
            samples=self.samples, seed=self.seed, groups=self.groups,
        )  # fmt: skip


def _ranks(values: FloatArray) -> FloatArray:
    """Average ranks: a scale that two systems share."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2.0
    return np.asarray(ranks[inverse], np.float64)


def _reversed(result: TestResult) -> TestResult:
    return replace(result, difference=-result.difference)
