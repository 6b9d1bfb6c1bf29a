"""Evaluation: gold labels and predictions of several systems -> a Report with intervals and significance."""

import importlib.metadata
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from features.core.files import digest
from features.core.progress import Progress, silent
from qe.dataset import LabelScale
from qe.metrics._base import METRICS, AdditiveMetric, Metric, RankedMetric
from qe.metrics.delta_avg import delta_avg_by_n
from qe.significance._sums import bootstrap_counts, bootstrap_sums
from qe.significance.bootstrap import NAMES, bootstrap_test
from qe.significance.clusters import clusters
from qe.significance.corrections import correct, experimentwise_error
from qe.significance.groups import Groups, group_index, group_sums
from qe.significance.intervals import percentile_interval
from qe.significance.randomization import NAME as RANDOMIZATION
from qe.significance.randomization import randomization_test, randomization_test_rescored
from qe.significance.result import TestResult

FloatArray = NDArray[np.float64]

DEFAULT_METRICS = (
    "delta_avg", "spearman", "pearson", "kendall", "mae", "rmse", "large_error", "small_error",
)  # fmt: skip
TESTS = {"bootstrap": NAMES["centred"], "ar": RANDOMIZATION}
BY_N_LIMIT = 1000
CONFIDENCE = 0.95
LEVEL = 0.05

_JSON_NAMES = {"large_error": "large_error_percent", "small_error": "small_error_percent"}
_BLOCK_BYTES = 1 << 26


@dataclass(frozen=True)
class SystemScores:
    """One system's scores.

    metrics         metric -> score; NaN where undefined
    ci              metric -> 95 % bootstrap interval; empty without resampling
    delta_avg_by_n  DeltaAvg[n] for n = 2 .. min(n/2, 1000) quantiles
    interval        smallest and largest prediction
    n               number of segments
    """

    metrics: Mapping[str, float]
    ci: Mapping[str, tuple[float, float]]
    delta_avg_by_n: FloatArray
    interval: tuple[float, float]
    n: int

    def to_json(self) -> dict[str, Any]:
        named = {_JSON_NAMES.get(name, name): _plain(value) for name, value in self.metrics.items()}
        return {
            **named,
            "interval": [_plain(bound) for bound in self.interval],
            "n": self.n,
            "ci": {_JSON_NAMES.get(m, m): [_plain(b) for b in bounds] for m, bounds in self.ci.items()},
            "delta_avg_by_n": {str(n): _plain(v) for n, v in enumerate(self.delta_avg_by_n, start=2)},
        }


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
            "metric": _JSON_NAMES.get(self.metric, self.metric),
            **self.result.to_json(),
            "p_corrected": _plain(self.p_corrected),
            "ci": [_plain(bound) for bound in self.ci],
        }


@dataclass(frozen=True)
class Report:
    """Scores of all systems on the same segments.

    systems      name -> SystemScores, in the order given
    comparisons  all pairs, or each system with each named baseline
    clusters     metric -> systems that cannot be told apart, best first (corrected over all pairs)
    baselines    the named baselines
    recipe       seed, samples, test, correction, label scale, fingerprint of the gold labels, versions
    """

    systems: Mapping[str, SystemScores]
    comparisons: Sequence[Comparison]
    clusters: Mapping[str, list[list[str]]]
    baselines: Sequence[str] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def score(self, system: str, metric: str) -> float:
        return self.systems[system].metrics[metric]

    def comparison(self, system: str, baseline: str, metric: str) -> Comparison:
        """The comparison of that pair on that metric; KeyError where it was not made."""
        for found in self.comparisons:
            if (found.system, found.baseline, found.metric) == (system, baseline, metric):
                return found
        raise KeyError((system, baseline, metric))

    def to_json(self) -> dict[str, Any]:
        """Plain values only; undefined is None."""
        return {
            "systems": {name: scores.to_json() for name, scores in self.systems.items()},
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "clusters": {_JSON_NAMES.get(m, m): groups for m, groups in self.clusters.items()},
            "baselines": list(self.baselines),
            "recipe": dict(self.recipe),
        }


def evaluate(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    scale: LabelScale,
    *,
    baselines: Sequence[str] = (),
    metrics: Sequence[str] = DEFAULT_METRICS,
    samples: int = 1000,
    seed: int = 0,
    test: Literal["bootstrap", "ar"] = "bootstrap",
    correction: str = "holm",
    groups: Groups | None = None,
    progress: Progress = silent,
) -> Report:
    """Scores every system and compares them.

    gold, predictions  (n,) each, on `scale`; ranking metrics see them multiplied by `scale.sign`
    baselines          names among `predictions` that all others are compared with; none: all pairs
    samples            resamples of intervals and tests; 0: neither
    test               bootstrap: paired, centred on the signed difference; ar: approximate randomization of
                       predictions (of their ranks for ranking metrics)
    correction         over the comparisons of each metric: none, bonferroni, holm, bh
    groups             (n,) document of each segment, to resample documents

    Raises InputError for systems of another length than the gold labels, values that are not finite, unknown
    metrics and baselines.
    """
    gold, predictions = _checked(gold, predictions)
    chosen = {name: METRICS.get(name)() for name in metrics}
    _check_choices(predictions, baselines, test, samples)
    correct([], correction)
    oriented = {name: scale.sign * values for name, values in predictions.items()}
    quality = scale.sign * gold
    drawn = _bootstrap(quality, oriented, chosen, samples, seed, groups, progress) if samples else {}
    systems = {
        name: _scores(name, quality, oriented[name], predictions[name], chosen, drawn) for name in predictions
    }
    compare = _Comparer(quality, oriented, systems, chosen, drawn, samples, seed, test, groups, progress)
    pairs = [(a, b) for b in baselines for a in predictions if a not in baselines]
    every = compare.pairs(list(combinations(predictions, 2)), correction) if samples else []
    return Report(
        systems=systems,
        comparisons=compare.pairs(pairs, correction) if pairs and samples else every,
        clusters=_clusters(systems, every, chosen),
        baselines=tuple(baselines),
        recipe=_recipe(gold, scale, samples, seed, test, correction, len(pairs) or len(every) // len(chosen)),
    )


def _checked(
    gold: FloatArray, predictions: Mapping[str, FloatArray]
) -> tuple[FloatArray, dict[str, FloatArray]]:
    columns = {name: np.asarray(values, np.float64) for name, values in {"gold": gold, **predictions}.items()}
    if not predictions:
        raise InputError("no predictions to evaluate")
    if "gold" in predictions:
        raise InputError("a system cannot be named 'gold'", remedy="give it another name")
    size = len(columns["gold"])
    for name, values in columns.items():
        if values.ndim != 1 or len(values) != size or size == 0:
            raise InputError(
                f"{size} gold labels, but {len(values)} predictions of '{name}'" if size else "no gold labels"
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(f"segment {row + 1} of '{name}' is {values[row]}, not a finite number")
    return columns.pop("gold"), columns


def _check_choices(
    predictions: Mapping[str, FloatArray], baselines: Sequence[str], test: str, samples: int
) -> None:
    for name in baselines:
        if name not in predictions:
            raise InputError(f"unknown baseline '{name}'", remedy=f"systems: {', '.join(predictions)}")
    if test not in TESTS:
        raise InputError(f"unknown test '{test}'", remedy=f"known: {', '.join(TESTS)}")
    if samples < 0:
        raise InputError(f"samples must be 0 or more, but got {samples}")


Drawn = dict[tuple[str, str], FloatArray]
"""(system, metric) -> (samples,) bootstrap scores."""


def _bootstrap(
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


def _scores(
    name: str,
    gold: FloatArray,
    oriented: FloatArray,
    raw: FloatArray,
    metrics: Mapping[str, Metric],
    drawn: Drawn,
) -> SystemScores:
    return SystemScores(
        metrics={key: metric.score(gold, oriented) for key, metric in metrics.items()},
        ci={key: percentile_interval(drawn[name, key], CONFIDENCE) for key in metrics if drawn},
        delta_avg_by_n=delta_avg_by_n(gold, oriented)[: BY_N_LIMIT - 1],
        interval=(float(raw.min()), float(raw.max())),
        n=len(gold),
    )


@dataclass(frozen=True)
class _Comparer:
    """Makes comparisons of pairs from what was drawn."""

    gold: FloatArray
    predictions: Mapping[str, FloatArray]
    systems: Mapping[str, SystemScores]
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
        for metric in self.metrics:
            results = [self._result(a, b, metric) for a, b in pairs]
            adjusted = correct([result.p for result in results], correction)
            for (a, b), result, p in zip(pairs, results, adjusted, strict=True):
                differences = self.drawn[a, metric] - self.drawn[b, metric]
                interval = percentile_interval(differences, CONFIDENCE)
                found.append(Comparison(a, b, metric, result, float(p), interval))
        return found

    def _result(self, a: str, b: str, metric: str) -> TestResult:
        if self.test == "ar":
            return self._randomized(a, b, self.metrics[metric])
        difference = self.systems[a].metrics[metric] - self.systems[b].metrics[metric]
        unit = "segment" if self.groups is None else "group"
        return bootstrap_test(self.drawn[a, metric], self.drawn[b, metric], difference, resampled=unit)

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


def _clusters(
    systems: Mapping[str, SystemScores], pairs: Sequence[Comparison], metrics: Mapping[str, Metric]
) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for metric, kind in metrics.items():
        p_values = {(c.system, c.baseline): c.p_corrected for c in pairs if c.metric == metric}
        if p_values:
            found[metric] = clusters(best_first(systems, metric, kind.higher_is_better), p_values, LEVEL)
    return found


def best_first(systems: Mapping[str, SystemScores], metric: str, higher_is_better: bool) -> list[str]:
    """The systems by score, best first; undefined scores last, ties in the order given."""

    def key(name: str) -> tuple[bool, float]:
        score = systems[name].metrics[metric]
        return math.isnan(score), -score if higher_is_better else score

    return sorted(systems, key=key)


def _recipe(
    gold: FloatArray, scale: LabelScale, samples: int, seed: int, test: str, correction: str, comparisons: int
) -> dict[str, Any]:
    return {
        "seed": seed,
        "samples": samples,
        "test": TESTS[test],
        "confidence": CONFIDENCE,
        "correction": correction,
        "experimentwise_error_uncorrected": experimentwise_error(LEVEL, comparisons),
        "delta_avg_by_n_limit": BY_N_LIMIT,
        "label": {
            "name": scale.name, "low": scale.low, "high": scale.high,
            "higher_is_better": scale.higher_is_better,
        },
        "gold": digest(gold.tobytes()),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in ("qe", "numpy", "numba", "scipy")},
        },
    }  # fmt: skip


def _plain(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else float(value)
