"""Predictions against gold labels: scores, intervals, tests, clusters; hints at likely mistakes."""

import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.basics.numerals import MAX_VALUE
from features.basics.plugins import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from features.storage.files import digest
from qe.data.dataset import LabelScale
from qe.display.files import plain_fields
from qe.display.numbers import number, span
from qe.display.summary import Record, table_by
from qe.display.table import Table as DisplayTable
from qe.statistics.buckets import BucketReport, Buckets, compare_in_buckets
from qe.statistics.comparisons import Comparisons, Result, Scored, compare
from qe.statistics.draws import Groups, Levels
from qe.statistics.family import Equivalence, Pair, Table, cautions, few_units
from qe.statistics.intervals import heavy_tails, jackknife_interval
from qe.statistics.metric import METRICS, RankedMetric, power_of_two_scaled
from qe.statistics.metrics.ranking import delta_avg_by_n
from qe.statistics.ranks import RankInterval, check_margins, undecided_notes
from qe.statistics.resampling import ALL_PAIRS, BOOTSTRAPS, RANDOMIZATION
from qe.statistics.settings import ResamplingSettings, SignificanceSettings

_STANDARD_ERRORS = 5.0  # of a correlation of nothing, 1 / sqrt(n): chance does not ask
# Errors beyond those of the mean label by one factor, and beyond those of the predictions once put on the
# labels' scale by the other, are those of another scale.
_BEYOND, _RESCALED = 1.25, 2.0
_MIN_SPREAD = 1e-150  # squares of smaller differences underflow


def hints(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    baselines: Sequence[str],
    scale: LabelScale,
    rankings: Collection[str] = (),
) -> list[str]:
    """A question for each system whose predictions (n,), not oriented, look reversed, rescaled or broken."""
    if len(gold) < 4 or np.ptp(gold) == 0:
        return []
    questions, noise = [], _STANDARD_ERRORS / np.sqrt(len(gold))
    ranks = {name: rank_correlation(gold, values) for name, values in predictions.items()}
    floor = min((ranks[name] for name in baselines if not np.isnan(ranks[name])), default=np.nan)
    for name, values in predictions.items():
        shown = number(ranks[name], 2)
        turned = ranks[name] < -noise
        if turned:
            questions.append(
                f"'{name}' ranks against the labels (Spearman {shown}): is it of the other direction, such as"
                " HTER among qualities? Then evaluate its negative"
            )
        elif shifted := _shifted(name, gold, values, ranks[name]):
            questions.append(shifted)
        elif name not in baselines and ranks[name] < floor - noise:
            questions.append(
                f"'{name}' ranks far worse than every baseline (Spearman {shown}, {number(floor, 2)} at"
                " least): do its lines belong to these segments?"
            )
        questions += [] if turned or name in rankings else _scaled(name, gold, values, scale)
    return questions


def tails(
    gold: FloatArray, predictions: Mapping[str, FloatArray], rankings: Collection[str] = ()
) -> list[str]:
    """A warning if a handful of segments decides a metric, because tails are heavy."""
    named = {"the labels": gold} | {
        f"the errors of '{name}'": values - gold
        for name, values in predictions.items()
        if name not in rankings
    }
    heavy = {name: excess for name, values in named.items() if (excess := heavy_tails(values))}
    if not heavy:
        return []
    worst = max(heavy, key=heavy.__getitem__)
    more = f", and {len(heavy) - 1} more columns" if len(heavy) > 1 else ""
    return [
        f"heavy tails: {worst} (excess kurtosis {number(heavy[worst], 1)}, 0 for normal values){more}: a few"
        " segments decide RMSE and Pearson, and their intervals are too narrow; see docs/significance.md"
    ]


def narrow(gold: FloatArray, predictions: Mapping[str, FloatArray]) -> list[str]:
    """A note on labels and predictions whose differences are too small to be squared."""
    named = {"the labels": gold} | {
        f"the predictions of '{name}'": each for name, each in predictions.items()
    }
    return [
        f"{name} differ by {spread:.3g} at most: squares of such differences are 0, and figures that rest on"
        " them are undefined or 0"
        for name, values in named.items()
        if 0 < (spread := float(np.ptp(values))) < _MIN_SPREAD
    ]


def rank_correlation(gold: FloatArray, predicted: FloatArray) -> float:
    if np.ptp(gold) == 0 or np.ptp(predicted) == 0:
        return float("nan")
    from scipy.stats import rankdata  # slow to load

    x, y = (rankdata(side) for side in (gold, predicted))
    return float(np.corrcoef(x, y)[0, 1])


def _shifted(name: str, gold: FloatArray, predicted: FloatArray, correlation: float) -> str:
    own = 0.0 if np.isnan(correlation) else correlation
    moved = {
        "one line early": rank_correlation(gold[1:], predicted[:-1]),
        "one line late": rank_correlation(gold[:-1], predicted[1:]),
    }
    location, best = max(moved.items(), key=lambda item: -1.0 if np.isnan(item[1]) else item[1])
    if not best - own > _STANDARD_ERRORS * np.sqrt(2 / len(gold)):
        return ""
    return (
        f"'{name}' fits the labels of neighbouring segments better than its own (Spearman"
        f" {number(best, 2)}, not {number(own, 2)}): is its file shifted, {location}?"
    )


def _scaled(name: str, gold: FloatArray, predicted: FloatArray, scale: LabelScale) -> list[str]:
    labels, values = power_of_two_scaled(gold, predicted)
    spread = float(np.abs(labels - labels.mean()).mean())
    error = float(np.abs(values - labels).mean())
    (x,), y = power_of_two_scaled(values - values.mean()), labels - labels.mean()
    slope = max(0.0, float(x @ y / (x @ x))) if x.any() else 0.0
    rescaled_error = float(np.abs(slope * x - y).mean())
    if error <= max(_BEYOND * spread, _RESCALED * rescaled_error):
        return []
    ratio = f"{number(error / spread, 1)} times as much as" if spread > 0 else "far more than"
    lie = f"{span(predicted.min(), predicted.max())}, the labels in {span(gold.min(), gold.max())}"
    return [
        f"'{name}' errs {ratio} the mean label would (predictions are in"
        f" {lie}): is it on the scale of {scale.name}?"
    ]


BUCKET_METRICS = ("delta_avg", "spearman", "mae")


def evaluate_in_buckets(
    scored: Scored,
    pairs: Sequence[tuple[str, str]],
    buckets: Sequence[Buckets],
    levels: Levels,
    settings: ResamplingSettings,
    samples: int | None = None,
) -> BucketReport:
    kinds = {name: scored.kinds[name] for name in BUCKET_METRICS if name in scored.kinds}
    every = [(a, b, metric) for a, b in pairs for metric in kinds]
    keys = [key for key in every if not {(key[0], key[2]), (key[1], key[2])} & set(scored.unscored)]
    inside = Scored.from_predictions(scored.gold, scored.predictions, kinds, scored.unscored)
    return compare_in_buckets(Comparisons(inside, levels, settings), keys, buckets, samples=samples)


TESTS = {
    "ar": RANDOMIZATION, "bootstrap": BOOTSTRAPS["centred"], "win-ratio": BOOTSTRAPS["win-ratio"],
    "tukey": ALL_PAIRS["pairs"], "scheffe": ALL_PAIRS["all"],
}  # fmt: skip
CONFIDENCE = 0.95
CLASS_METRICS = ("mcc", "f1", "auc")
PUBLISHED = ("delta_avg", "spearman", "mae", "rmse")  # in the findings of WMT 2012
OF_PAPERS = ("pearson", "spearman", "mae", "rmse", "delta_avg")
DEFAULT_METRICS = (
    "delta_avg", "spearman", "pearson", "kendall", "mae", "rmse", "large_error", "small_error",
)  # fmt: skip
_OF_EFFORT = ("large_error", "small_error")  # errors in units of the scale from 1 to 5
BY_N_LIMIT = 1000
_RANK_SAMPLES = 1000  # virtual test sets of bootstrap rank ranges


@dataclass(frozen=True)
class SystemScores(Record):
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
    """

    metrics: Mapping[str, float]
    ci: Mapping[str, tuple[float, float]]
    delta_avg_by_n: FloatArray
    interval: tuple[float, float]
    n: int

    def to_json(self) -> dict[str, Any]:
        return plain_fields({
            **{json_name(name): value for name, value in self.metrics.items()},
            "interval": self.interval,
            "n": self.n,
            "ci": {json_name(name): bounds for name, bounds in self.ci.items()},
            "delta_avg_by_n": dict(enumerate(self.delta_avg_by_n.tolist(), start=2)),
        })  # fmt: skip


@dataclass(frozen=True)
class Report(Record):
    """Scores of all systems on the same segments.

    Attributes
    ----------
    comparisons : sequence of Pair
        All pairs, or each system with each named baseline.
    clusters : mapping of str to list of list of str
        Metric -> systems that no test separates, best first (corrected over all pairs); a metric is absent
        if that cannot be decided.
    recipe : mapping of str to Any
        Seed, samples, test, correction, families, label scale, fingerprint of the labels, versions.
    notes : sequence of str
        What a reader must know before believing the figures, a sentence each.
    equivalences : sequence of Equivalence
        All pairs, by the metrics that have a margin.
    ranks : mapping of str to mapping of str to RankInterval
        Metric -> system -> how good and how bad its rank can be; from three systems on.
    buckets : BucketReport or None
        The same comparisons in buckets of segments; None unless requested.
    """

    systems: Mapping[str, SystemScores]
    comparisons: Sequence[Pair]
    clusters: Mapping[str, list[list[str]]]
    baselines: Sequence[str] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    equivalences: Sequence[Equivalence] = ()
    ranks: Mapping[str, Mapping[str, RankInterval]] = field(default_factory=dict)
    buckets: BucketReport | None = None

    def summary(self) -> DisplayTable:
        """The systems, best first by the first metric, with its interval."""
        return table_by("qe.evaluation.tables.summary_table", self)

    def score(self, system: str, metric: str) -> float:
        """The score of a system by a metric. Raises InputError for unknown names."""
        metrics = self.systems[known_name("system", system, self.systems)].metrics
        return metrics[known_name("metric", metric, metrics)]

    def comparison(self, system: str, baseline: str, metric: str) -> Pair:
        """The comparison of that pair on that metric; raises InputError if there is none."""
        self.score(system, metric)
        self.score(baseline, metric)
        pairs = {pair.names: pair for pair in self.comparisons if pair.metric == metric}
        if (system, baseline) in pairs:
            return pairs[system, baseline]
        reverse = f"there is comparison('{baseline}', '{system}', '{metric}')"
        compared = "pairs are compared with samples; with baselines, each system with these alone"
        raise InputError(
            f"'{system}' was not compared with '{baseline}' by {metric}",
            remedy=reverse if (baseline, system) in pairs else compared,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, under the names that metrics have in JSON; undefined is None."""
        content = super().to_json()
        for pair in (*content["comparisons"], *content["equivalences"]):
            pair["metric"] = json_name(pair["metric"])
        for name in ("clusters", "ranks"):
            content[name] = {json_name(metric): values for metric, values in content[name].items()}
        return content


def json_name(metric: str) -> str:
    return (METRICS.get(metric).json_key if metric in METRICS else "") or metric


def metrics_of(scale: LabelScale, gold: FloatArray | None = None) -> tuple[str, ...]:
    """The metrics of a label; large and small errors are those of labels from 1 to 5."""
    if scale.classes is not None:
        return CLASS_METRICS
    labels = np.zeros(0) if gold is None else gold
    low = labels.min(initial=np.inf) if scale.low is None else scale.low
    high = labels.max(initial=-np.inf) if scale.high is None else scale.high
    omitted = () if low >= 1 and high <= 5 else _OF_EFFORT
    return tuple(name for name in DEFAULT_METRICS if name not in omitted)


def evaluate(
    gold: FloatArray,
    predictions: Mapping[str, FloatArray],
    scale: LabelScale,
    settings: SignificanceSettings | None = None,
    *,
    baselines: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    groups: Groups | Mapping[str, Groups] | None = None,
    rankings: Collection[str] = (),
    margins: Mapping[str, float] | None = None,
    buckets: Sequence[Buckets] = (),
    progress: Progress = silent,
) -> Report:
    """Scores every system and compares them.

    gold, predictions  (n,) each, on `scale`; ranking metrics see them multiplied by `scale.sign`
    settings           the test `ar` exchanges predictions, or their ranks for ranking metrics; no samples:
                       as many as the number of comparisons needs (`qe.statistics.family`)
    baselines          names among `predictions` that all others are compared with; none: all pairs
    metrics            default: those of the label's kind
    groups             (n,) document of each segment, to resample documents; or several such columns by name
                       (documents, judges): a difference must then show with each of them as the unit
    rankings           systems of whose predictions the order alone counts: metrics of scores are undefined
    margins            metric -> the difference below which two systems are equivalent; all pairs are tested
    buckets            ways to part the segments: the comparisons are made in each bucket, too

    Raises InputError for systems of another length than the gold labels, values that are not finite, unknown
    metrics and baselines, fewer resamples than any p-value of .05 needs.
    """
    settings = settings or SignificanceSettings()
    metrics = metrics_of(scale, gold) if metrics is None else metrics
    if not metrics:
        raise InputError("no metrics to evaluate")
    gold, predictions = _checked(gold, predictions)
    metrics = [METRICS.spelled(name) for name in metrics]
    kinds = {name: METRICS.get(name)() for name in metrics}
    for name in baselines:
        known_name("baseline", name, predictions)
    known_name("test", settings.test, TESTS)
    for name in rankings:
        known_name("system", name, predictions, location="rankings")
    margins = {METRICS.spelled(name): margin for name, margin in (margins or {}).items()}
    check_margins(margins, metrics)
    if buckets and settings.samples == 0:
        raise InputError("buckets are compared by resampling", remedy="ask for samples, or for no buckets")
    levels = Levels.from_groups(groups, len(gold))
    unscored = {(n, key) for n in rankings for key, m in kinds.items() if not isinstance(m, RankedMetric)}
    quality = {name: scale.sign * values for name, values in predictions.items()}
    scored = Scored.from_predictions(scale.sign * gold, quality, kinds, unscored)
    better = {name: metric.higher_is_better for name, metric in kinds.items()}
    every = compare(scored, levels, ResamplingSettings(**vars(settings)), better, progress=progress)
    pairs = [(a, b) for b in baselines for a in predictions if a not in baselines]
    shown = every.subset(pairs) if pairs else every
    engine, clusters, same = every.engine, every.clusters(), every.equivalences(margins, settings.correct)
    warnings = few_units(levels) if engine.samples and levels.smallest < 2 else []
    if every.results:
        firsts = {metric.kind: name for name, metric in reversed(kinds.items())}
        classes = (name for name, metric in kinds.items() if metric.kind == "classes")
        tested = {*OF_PAPERS, *firsts.values(), *classes}  # metrics whose p-values tables show
        visible = {key: pair for key, pair in every.tested.items() if pair.metric in tested}
        warnings = cautions(every.table, visible, levels)
    missing = ", ".join(sorted({metric for _, metric in unscored}))
    lacks = [f"'{name}' holds ranks without scores: {missing} cannot be computed" for name in rankings]
    ranks: dict[str, dict[str, RankInterval]] = {}
    if len(predictions) > 2 and clusters:
        virtual = engine.virtual_scores if settings.test == "bootstrap" else None
        if virtual is None:
            virtual = scored.resampled(levels, _RANK_SAMPLES, settings.seed, progress)
        ranks = engine.ranks(every.tested, {metric: better[metric] for metric in clusters}, virtual)
    parted = None
    if buckets:
        inside = pairs or list(combinations(predictions, 2))
        parted = evaluate_in_buckets(scored, inside, buckets, levels, engine.settings, settings.samples)
    return Report(
        {name: _scores(name, engine, scored, predictions[name]) for name in predictions},
        shown.pairs(),
        clusters,
        tuple(baselines),
        _recipe(gold, scale, every, shown.table),
        [
            *(lacks if missing else ()),
            *hints(gold, predictions, baselines, scale, rankings),
            *narrow(gold, predictions),
            *([] if scale.classes else tails(gold, predictions, rankings)),
            *warnings,
            *undecided_notes(same),
        ],
        same,
        ranks,
        parted,
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
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise InputError(f"{name} must be one number per segment, but got shape {array.shape}")
    wrong = ~(np.abs(array) <= MAX_VALUE)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        problem = f"beyond {MAX_VALUE:g}" if np.isfinite(array[row]) else "not a finite number"
        raise InputError(f"segment {row + 1} of {name} is {array[row]:g}, {problem}")
    return array


def _scores(name: str, engine: Comparisons, scored: Scored, raw: FloatArray) -> SystemScores:
    undefined = any((name, metric) in scored.unscored for metric in scored.metrics)
    scores = scored.scores[name]
    return SystemScores(
        metrics=scores,
        ci={
            key: jackknife_interval(scores[key], engine.jackknife(name, key), CONFIDENCE, kind.interval_scale)
            for key, kind in scored.kinds.items()
            if engine.samples
        },
        delta_avg_by_n=delta_avg_by_n(scored.gold, scored.predictions[name])[: BY_N_LIMIT - 1],
        interval=(np.nan, np.nan) if undefined else (float(raw.min()), float(raw.max())),
        n=len(scored.gold),
    )


def _recipe(gold: FloatArray, scale: LabelScale, result: Result, table: Table) -> dict[str, Any]:
    settings, family = result.engine.settings, table.to_json()
    return {
        "seed": settings.seed,
        "samples": settings.samples,
        "test": TESTS[settings.test],
        "confidence": CONFIDENCE,
        "interval": "jackknife",
        "correction": settings.correction,
        "family": family,
        "cluster_family": result.table.to_json(),
        "experimentwise_error_uncorrected": family["error_uncorrected"],
        "units": result.engine.levels.sizes(),
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
