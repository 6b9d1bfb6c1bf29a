"""Evaluation: a Report with intervals and significance of several systems.

It takes gold labels and the systems' predictions.
"""

import math
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name, unknown_name
from features.basics.numerals import LARGEST
from features.basics.packages import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from features.basics.undefined import finite_or_none
from features.storage.files import digest
from qe.data.dataset import LabelScale
from qe.display.summary import summarised, table_by
from qe.display.table import Table as DisplayTable
from qe.evaluation.buckets import evaluate_in_buckets
from qe.evaluation.hints import hints, narrow, tails
from qe.evaluation.pairs import CONFIDENCE, TESTS, Comparison, Test, check_test, json_name
from qe.evaluation.predictions import Predictions
from qe.statistics.buckets import BucketReport, Buckets
from qe.statistics.cautions import cautions, few_units
from qe.statistics.clusters import clusters
from qe.statistics.comparisons import ALL_AT_ONCE, Comparisons, Procedure
from qe.statistics.corrections import correct
from qe.statistics.equivalence import Equivalence, check_margins, undecided_notes
from qe.statistics.family import IN_TEST, Judged, Key, Rule, Scope, Table, copies_of, reversed_result
from qe.statistics.groups import Groups
from qe.statistics.intervals import jackknife_interval
from qe.statistics.levels import Levels
from qe.statistics.metric import METRICS, Metric, RankedMetric
from qe.statistics.metrics.delta_avg import delta_avg_by_n
from qe.statistics.ranks import RankInterval
from qe.statistics.result import LEVEL, TestResult, check_enough, check_seed

CLASS_METRICS = ("mcc", "f1", "auc")
OF_PAPERS = ("pearson", "spearman", "mae", "rmse", "delta_avg")
DEFAULT_METRICS = (
    "delta_avg", "spearman", "pearson", "kendall", "mae", "rmse", "large_error", "small_error",
)  # fmt: skip
_OF_EFFORT = ("large_error", "small_error")  # errors in units of the scale from 1 to 5
BY_N_LIMIT = 1000
_RANK_SAMPLES = 1000  # virtual test sets of bootstrap rank ranges


@summarised
@dataclass(frozen=True)
class SystemScores:
    """One system's scores.

    Attributes
    ----------
    metrics : mapping of str to float
        Metric -> score; NaN if undefined.
    ci : mapping of str to pair of float and float
        Metric -> 95 % interval (jackknife); empty without resampling.
    delta_avg_by_n : array of float
        DeltaAvg[n] for n = 2 .. min(n/2, 1000) quantiles.
    interval : pair of float and float
        Smallest and largest prediction.
    n : int
        Number of segments.
    """

    metrics: Mapping[str, float]
    ci: Mapping[str, tuple[float, float]]
    delta_avg_by_n: FloatArray
    interval: tuple[float, float]
    n: int

    def to_json(self) -> dict[str, Any]:
        named = {json_name(name): finite_or_none(value) for name, value in self.metrics.items()}
        return {
            **named,
            "interval": [finite_or_none(bound) for bound in self.interval],
            "n": self.n,
            "ci": {json_name(m): [finite_or_none(b) for b in bounds] for m, bounds in self.ci.items()},
            "delta_avg_by_n": {str(n): finite_or_none(v) for n, v in enumerate(self.delta_avg_by_n, start=2)},
        }


@summarised
@dataclass(frozen=True)
class Report:
    """Scores of all systems on the same segments.

    Attributes
    ----------
    systems : mapping of str to SystemScores
        Name -> SystemScores, in the order given.
    comparisons : sequence of Comparison
        All pairs, or each system with each named baseline.
    clusters : mapping of str to list of list of str
        Metric -> systems that cannot be told apart, best first (corrected over all pairs); a metric is
        absent where that cannot be decided.
    baselines : sequence of str
        The named baselines.
    recipe : mapping of str to Any
        Seed, samples, test, correction, families, label scale, fingerprint of the labels, versions.
    notes : sequence of str
        What a reader must know before believing the figures, a sentence each.
    equivalences : sequence of Equivalence
        All pairs, by the metrics that have a margin.
    ranks : mapping of str to mapping of str to RankInterval
        Metric -> system -> how good and how bad its rank can be; from three systems on.
    buckets : BucketReport or None
        The same comparisons in buckets of segments; None unless asked for.
    """

    systems: Mapping[str, SystemScores]
    comparisons: Sequence[Comparison]
    clusters: Mapping[str, list[list[str]]]
    baselines: Sequence[str] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    equivalences: Sequence[Equivalence] = ()
    ranks: Mapping[str, Mapping[str, RankInterval]] = field(default_factory=dict)
    buckets: BucketReport | None = None

    def summary(self) -> DisplayTable:
        """The systems, best first by the first metric, with its interval."""
        return table_by("qe.evaluation.report_tables.summary_table", self)

    def score(self, system: str, metric: str) -> float:
        """The score of a system by a metric. Raises InputError for unknown names."""
        metrics = self.systems[known_name("system", system, self.systems)].metrics
        return metrics[known_name("metric", metric, metrics)]

    def comparison(self, system: str, baseline: str, metric: str) -> Comparison:
        """The comparison of that pair on that metric.

        Raises InputError for unknown names, and for a pair that was not compared.
        """
        self.score(system, metric)
        self.score(baseline, metric)
        pairs = {(c.system, c.baseline): c for c in self.comparisons if c.metric == metric}
        if (system, baseline) in pairs:
            return pairs[system, baseline]
        turned = f"there is comparison('{baseline}', '{system}', '{metric}')"
        few = "pairs are compared with samples; with baselines, each system with these alone"
        raise InputError(
            f"'{system}' was not compared with '{baseline}' by {metric}",
            remedy=turned if (baseline, system) in pairs else few,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values only; undefined is None."""
        return {
            "systems": {name: scores.to_json() for name, scores in self.systems.items()},
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "clusters": {json_name(m): groups for m, groups in self.clusters.items()},
            "baselines": list(self.baselines),
            "recipe": dict(self.recipe),
            "notes": list(self.notes),
            "equivalences": [
                {**pair.to_json(), "metric": json_name(pair.metric)} for pair in self.equivalences
            ],
            "ranks": {
                json_name(metric): {name: interval.to_json() for name, interval in of_metric.items()}
                for metric, of_metric in self.ranks.items()
            },
            "buckets": None if self.buckets is None else self.buckets.to_json(),
        }


def metrics_of(scale: LabelScale, gold: FloatArray | None = None) -> tuple[str, ...]:
    """The metrics of a label, a number or two classes.

    gold  (n,) labels, which say where an open scale lies

    Large and small errors are those of labels from 1 to 5, and are left out for others.
    """
    if scale.classes is not None:
        return CLASS_METRICS
    labels = np.zeros(0) if gold is None else gold
    low = labels.min(initial=np.inf) if scale.low is None else scale.low
    high = labels.max(initial=-np.inf) if scale.high is None else scale.high
    left = () if low >= 1 and high <= 5 else _OF_EFFORT
    return tuple(name for name in DEFAULT_METRICS if name not in left)


def evaluate(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    scale: LabelScale,
    *,
    baselines: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    samples: int | None = None,
    seed: int = 0,
    test: Test = "ar",
    correction: str = "holm",
    family: Scope = "metric",
    groups: Groups | Mapping[str, Groups] | None = None,
    rankings: Collection[str] = (),
    margins: Mapping[str, float] | None = None,
    buckets: Sequence[Buckets] = (),
    progress: Progress = silent,
) -> Report:
    """Scores every system and compares them.

    gold, predictions  (n,) each, on `scale`; ranking metrics see them multiplied by `scale.sign`
    baselines          names among `predictions` that all others are compared with; none: all pairs
    metrics            default: those of the label's kind
    samples            resamples of intervals and tests; 0: neither; default: as many as the number of
                       comparisons needs (`qe.statistics.family`)
    test               ar: approximate randomization of predictions (of their ranks for ranking metrics);
                       bootstrap: paired, centred on the signed difference; win-ratio: paired, the share of
                       virtual test sets that the better one does not win (Koehn 2004); tukey, scheffe:
                       exchanges of all systems at once, corrected by itself for all pairs or all contrasts
    correction         none, bonferroni, holm, bh, over each `family` of comparisons: metric, table, all
    groups             (n,) document of each segment, to resample documents; or several such columns by name
                       (documents, judges): a difference must then show with each of them as the unit
    rankings           systems of whose predictions the order alone counts: metrics of scores are undefined
    margins            metric -> the difference below which two systems are equivalent; all pairs are tested
    buckets            ways to part the segments: the comparisons are made in each bucket, too

    Raises InputError for systems of another length than the gold labels, values that are not finite, unknown
    metrics and baselines, fewer resamples than any p-value of .05 needs.
    """
    metrics = metrics_of(scale, gold) if metrics is None else metrics
    if not metrics:
        raise InputError("no metrics to evaluate")
    gold, predictions = _checked(gold, predictions)
    chosen = {name: METRICS.get(name)() for name in metrics}
    _check_choices(predictions, baselines, test, samples, seed)
    for name in rankings:
        known_name("system", name, predictions, location="rankings")
    check_margins(margins or {}, metrics)
    if buckets and samples == 0:
        raise InputError("buckets are compared by resampling", remedy="ask for samples, or for no buckets")
    correct([], correction)
    rule = Rule(family, IN_TEST if test in ALL_AT_ONCE else correction)
    levels = Levels.of(groups, len(gold))
    pairs = [(a, b) for b in baselines for a in predictions if a not in baselines]
    every = list(combinations(predictions, 2))
    shown, all_pairs = (_table(list(some), predictions, chosen, rule) for some in (pairs or every, every))
    drawn_samples = all_pairs.resamples() if samples is None else samples
    oriented = {name: scale.sign * values for name, values in predictions.items()}
    quality = scale.sign * gold
    unscored = {(n, key) for n in rankings for key, m in chosen.items() if not isinstance(m, RankedMetric)}
    scored = Predictions(quality, oriented, chosen, unscored)
    engine = Comparisons(scored, levels, Procedure(test, drawn_samples, seed), progress)
    systems = {
        name: _scores(name, engine, scored, predictions[name], with_intervals=drawn_samples > 0)
        for name in predictions
    }
    results = engine.tests(every) if drawn_samples else {}
    judged = all_pairs.judge(results) if results else {}
    by_metric = _clusters(systems, all_pairs, judged, chosen)
    directions = {name: metric.higher_is_better for name, metric in chosen.items()}
    same = engine.equivalences(judged, margins or {}, directions, Rule(family, correction))
    told = shown.judge(_in_order(results, shown)) if pairs and results else judged
    parted = None
    if buckets:
        parted = evaluate_in_buckets(scored, pairs or every, buckets, levels, engine.how, rule, samples)
    return Report(
        systems=systems,
        comparisons=[
            Comparison(*key, one.result, one.p_corrected, engine.interval(key)) for key, one in told.items()
        ],
        clusters=by_metric,
        baselines=tuple(baselines),
        recipe=_recipe(gold, scale, seed, test, correction, drawn_samples, shown, all_pairs, levels),
        notes=[
            *_ranks_alone(rankings, unscored),
            *hints(gold, predictions, baselines, scale, rankings),
            *narrow(gold, predictions),
            *([] if scale.classes else tails(gold, predictions, rankings)),
            *(cautions(all_pairs, _with_p(judged, chosen), levels) if results else []),
            *undecided_notes(same),
            *(few_units(levels) if drawn_samples and not results and levels.smallest < 2 else []),
        ],
        equivalences=same,
        ranks=_ranks(engine, judged, {m: directions[m] for m in by_metric}),
        buckets=parted,
    )


def _ranks(
    engine: Comparisons, judged: Mapping[Key, Judged], better: Mapping[str, bool]
) -> dict[str, dict[str, RankInterval]]:
    if len(engine.scored.systems) < 3 or not better:
        return {}
    how = engine.how
    if how.test == "bootstrap":
        return engine.ranks(judged, better, engine.drawn)
    drawn = engine.scored.resampled(engine.levels, _RANK_SAMPLES, how.seed, engine.progress)
    return engine.ranks(judged, better, drawn)


def _with_p(judged: Mapping[Key, Judged], chosen: Mapping[str, Metric]) -> dict[Key, Judged]:
    first: dict[str, str] = {}
    for name, metric in chosen.items():
        first.setdefault(metric.kind, name)
    shown = {*OF_PAPERS, *first.values(), *(name for name in chosen if chosen[name].kind == "classes")}
    return {key: one for key, one in judged.items() if key[2] in shown}


def _ranks_alone(rankings: Collection[str], unscored: Collection[tuple[str, str]]) -> list[str]:
    missing = sorted({metric for _, metric in unscored})
    lack = f"ranks without scores: {', '.join(missing)} cannot be computed"
    return [f"'{name}' holds {lack}" for name in rankings if missing]


def _table(
    pairs: list[tuple[str, str]],
    predictions: Mapping[str, FloatArray],
    metrics: Mapping[str, Metric],
    rule: Rule,
) -> Table:
    keys = [(*pair, metric) for metric in metrics for pair in pairs]
    return Table.of(keys, rule, alike=copies_of(predictions))


def _in_order(results: Mapping[Key, TestResult], table: Table) -> dict[Key, TestResult]:
    keys = [*table.copies, *table.twins, *(key for keys in table.members.values() for key in keys)]
    ordered = {}
    for a, b, metric in keys:
        given = (a, b, metric) in results
        ordered[a, b, metric] = results[a, b, metric] if given else reversed_result(results[b, a, metric])
    return ordered


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
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise InputError(f"{name} must be one number per segment, but got shape {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(f"segment {row + 1} of {name} is {array[row]}, not a finite number")
    if (np.abs(array) > LARGEST).any():
        row = int(np.argmax(np.abs(array)))
        raise InputError(f"segment {row + 1} of {name} is {array[row]:g}, beyond {LARGEST:g}")
    return array


def _check_choices(
    predictions: Mapping[str, FloatArray],
    baselines: Sequence[str],
    test: str,
    samples: int | None,
    seed: int,
) -> None:
    for name in baselines:
        if name not in predictions:
            raise unknown_name("baseline", name, predictions)
    check_test(test)
    check_seed(seed)
    if samples is not None and samples < 0:
        raise InputError(f"samples must be 0 or more, but got {samples}")
    if samples:
        check_enough(samples)


def _scores(
    name: str, engine: Comparisons, scored: Predictions, raw: FloatArray, with_intervals: bool
) -> SystemScores:
    undefined = any((name, metric) in scored.unscored for metric in scored.metrics)
    scores = scored.scores[name]
    return SystemScores(
        metrics=scores,
        ci={
            key: jackknife_interval(scores[key], engine.without(name, key), CONFIDENCE, metric.interval_scale)
            for key, metric in scored.kinds.items()
            if with_intervals
        },
        delta_avg_by_n=delta_avg_by_n(scored.gold, scored.predictions[name])[: BY_N_LIMIT - 1],
        interval=(np.nan, np.nan) if undefined else (float(raw.min()), float(raw.max())),
        n=len(scored.gold),
    )


def _clusters(
    systems: Mapping[str, SystemScores],
    table: Table,
    judged: Mapping[Key, Judged],
    metrics: Mapping[str, Metric],
) -> dict[str, list[list[str]]]:
    short = {key[2] for key in table.short_of_samples(judged)}
    grouped: dict[str, list[list[str]]] = {}
    for metric, kind in metrics.items():
        of_metric = {key[:2]: one for key, one in judged.items() if key[2] == metric}
        if metric not in short and any(not np.isnan(one.result.p) for one in of_metric.values()):
            p_values = {pair: one.p_corrected for pair, one in of_metric.items()}
            order = best_first(systems, metric, kind.higher_is_better)
            grouped[metric] = clusters(order, p_values, LEVEL)
    return grouped


def best_first(systems: Mapping[str, SystemScores], metric: str, higher_is_better: bool) -> list[str]:
    """The systems by score, best first; undefined scores last, ties in the order given."""

    def key(name: str) -> tuple[bool, float]:
        score = systems[name].metrics[metric]
        return math.isnan(score), -score if higher_is_better else score

    return sorted(systems, key=key)


def _recipe(
    gold: FloatArray,
    scale: LabelScale,
    seed: int,
    test: str,
    correction: str,
    samples: int,
    shown: Table,
    all_pairs: Table,
    levels: Levels,
) -> dict[str, Any]:
    family = shown.to_json()
    return {
        "seed": seed,
        "samples": samples,
        "test": TESTS[test],
        "confidence": CONFIDENCE,
        "interval": "jackknife",
        "correction": IN_TEST if test in ALL_AT_ONCE else correction,
        "family": family,
        "cluster_family": all_pairs.to_json(),
        "experimentwise_error_uncorrected": family["error_uncorrected"],
        "units": levels.sizes(),
        "delta_avg_by_n_limit": BY_N_LIMIT,
        "label": {
            "name": scale.name, "low": scale.low, "high": scale.high,
            "higher_is_better": scale.higher_is_better,
        },
        "gold": digest(gold.tobytes()),
        "versions": {
            "python": platform.python_version(),
            **versions(DISTRIBUTION, "numpy", "numba", "scipy"),
        },
    }  # fmt: skip
