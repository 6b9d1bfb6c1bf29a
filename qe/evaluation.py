"""Evaluation: gold labels and predictions of several systems -> a Report with intervals and significance."""

import importlib.metadata
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from features.core.files import digest
from features.core.progress import Progress, silent
from qe.dataset import LabelScale
from qe.evaluation_pairs import (
    CONFIDENCE,
    TESTS,
    Comparer,
    Comparison,
    Drawn,
    Test,
    bootstrap,
    check_test,
    json_name,
    plain,
)
from qe.metrics._base import METRICS, Metric
from qe.metrics.delta_avg import delta_avg_by_n
from qe.significance.clusters import clusters
from qe.significance.corrections import correct, experimentwise_error
from qe.significance.groups import Groups
from qe.significance.intervals import percentile_interval

FloatArray = NDArray[np.float64]

DEFAULT_METRICS = (
    "delta_avg", "spearman", "pearson", "kendall", "mae", "rmse", "large_error", "small_error",
)  # fmt: skip
BY_N_LIMIT = 1000
LEVEL = 0.05


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
        named = {json_name(name): plain(value) for name, value in self.metrics.items()}
        return {
            **named,
            "interval": [plain(bound) for bound in self.interval],
            "n": self.n,
            "ci": {json_name(m): [plain(b) for b in bounds] for m, bounds in self.ci.items()},
            "delta_avg_by_n": {str(n): plain(v) for n, v in enumerate(self.delta_avg_by_n, start=2)},
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
            "clusters": {json_name(m): groups for m, groups in self.clusters.items()},
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
    test: Test = "bootstrap",
    correction: str = "holm",
    groups: Groups | None = None,
    progress: Progress = silent,
) -> Report:
    """Scores every system and compares them.

    gold, predictions  (n,) each, on `scale`; ranking metrics see them multiplied by `scale.sign`
    baselines          names among `predictions` that all others are compared with; none: all pairs
    samples            resamples of intervals and tests; 0: neither
    test               bootstrap: paired, centred on the signed difference; ar: approximate randomization of
                       predictions (of their ranks for ranking metrics); tukey: the same for all pairs at
                       once, corrected by itself
    correction         over the comparisons of each metric: none, bonferroni, holm, bh
    groups             (n,) document of each segment, to resample documents

    Raises InputError for systems of another length than the gold labels, values that are not finite, unknown
    metrics and baselines.
    """
    if not metrics:
        raise InputError("no metrics to evaluate")
    gold, predictions = _checked(gold, predictions)
    chosen = {name: METRICS.get(name)() for name in metrics}
    _check_choices(predictions, baselines, test, samples)
    correct([], correction)
    oriented = {name: scale.sign * values for name, values in predictions.items()}
    quality = scale.sign * gold
    drawn = bootstrap(quality, oriented, chosen, samples, seed, groups, progress) if samples else {}
    systems = {
        name: _scores(name, quality, oriented[name], predictions[name], chosen, drawn) for name in predictions
    }
    scores = {name: system.metrics for name, system in systems.items()}
    compare = Comparer(quality, oriented, scores, chosen, drawn, samples, seed, test, groups, progress)
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
    labels = _finite(gold, "the gold labels")
    columns = {name: _finite(values, f"'{name}'") for name, values in predictions.items()}
    if not columns:
        raise InputError("no predictions to evaluate")
    if len(labels) == 0:
        raise InputError("no gold labels")
    for name, values in columns.items():
        if len(values) != len(labels):
            raise InputError(f"{len(labels)} gold labels, but {len(values)} predictions of '{name}'")
    return labels, columns


def _finite(values: FloatArray, name: str) -> FloatArray:
    """(n,) float64. Raises InputError for another shape and values that are not finite."""
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise InputError(f"{name} must be one number per segment, but got shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(f"segment {row + 1} of {name} is {array[row]}, not a finite number")
    return array


def _check_choices(
    predictions: Mapping[str, FloatArray], baselines: Sequence[str], test: str, samples: int
) -> None:
    for name in baselines:
        if name not in predictions:
            raise InputError(f"unknown baseline '{name}'", remedy=f"systems: {', '.join(predictions)}")
    check_test(test)
    if samples < 0:
        raise InputError(f"samples must be 0 or more, but got {samples}")


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
    correction = "in the test" if test == "tukey" else correction
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
