"""Word-level evaluation: MCC, F1 of OK and BAD, calibration error, with intervals, tests and thresholds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from features.text.tokens import segment_sum
from qe.data.folds import make_folds
from qe.display.files import plain_fields
from qe.display.summary import Printable, table_by
from qe.display.table import Table as DisplayTable
from qe.evaluation.evaluate import CONFIDENCE
from qe.statistics.comparisons import Scored, compare
from qe.statistics.draws import Levels
from qe.statistics.family import Pair, cautions
from qe.statistics.intervals import jackknife_interval
from qe.statistics.metrics.classes import confusion, f1_score, matthews
from qe.statistics.result import Measure
from qe.statistics.settings import CorrectionSettings, ResamplingSettings

BINS = 20


def equal_mass_bins(probability: FloatArray) -> IntArray:
    """(t,) the bin of every probability: the share of lower ones times 20, rounded down."""
    lower = np.searchsorted(np.sort(probability), probability, side="left")
    return np.asarray(lower * BINS // max(len(probability), 1), np.int64)


def calibration_sums(gold: BoolArray, probability: FloatArray, offsets: IntArray) -> FloatArray:
    """(n, bins + 1) per segment: by bin, P(BAD) less the number of BAD tags; and all tags."""
    bin_of = equal_mass_bins(probability)
    columns = [segment_sum(np.where(bin_of == k, probability - gold, 0.0), offsets) for k in range(BINS)]
    return np.column_stack([*columns, np.diff(offsets)]).astype(np.float64)


def ece(sums: FloatArray) -> FloatArray:
    """(..., bins + 1) sums -> (...) expected calibration error; NaN without tags.

    The mean over bins of |mean P(BAD) - share of BAD tags|, weighted by the tags in each. Source: Naeini et
    al. 2015, with bins of equal mass (Nguyen and O'Connor 2015).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(sums[..., :-1]).sum(axis=-1) / sums[..., -1])


def ece_by_chance(sums: FloatArray) -> float:
    """Calibration error that true probabilities would show by chance on these segments; NaN for one.

    Each bin's sum of P(BAD) less BAD tags is then about normal around 0, with the variance of the segments'
    sums: the mean of its size is sqrt(2 / pi) standard deviations.
    """
    n = len(sums)
    if n < 2:
        return float("nan")
    spreads = np.sqrt(n * np.var(sums[:, :-1], axis=0, ddof=1))
    return float(np.sqrt(2 / np.pi) * spreads.sum() / sums[:, -1].sum())


@dataclass(frozen=True)
class Bin:
    """Mean P(BAD) and share of BAD tags of the n tags in a bin."""

    predicted: float
    observed: float
    n: int


def reliability(gold: BoolArray, probability: FloatArray) -> list[Bin]:
    bin_of = equal_mass_bins(probability)
    return [
        Bin(float(probability[own].mean()), float(gold[own].mean()), int(own.sum()))
        for own in (bin_of == k for k in np.unique(bin_of))
    ]


# Columns of counts.
_TP, _FP, _FN, _TN = range(4)


def confusions(gold: BoolArray, predicted: BoolArray, offsets: IntArray) -> FloatArray:
    """(n, 4) counts per segment: BAD found, OK tagged BAD, BAD tagged OK, OK found.

    `gold` and `predicted` are (t,) whether a tag is BAD; `offsets` (n + 1,) where segments begin and end.
    """
    sums = np.concatenate([np.zeros((1, 4)), np.cumsum(confusion(gold, predicted), axis=0)])
    return np.diff(sums[offsets], axis=0)


def mcc(counts: FloatArray) -> FloatArray:
    """(..., 4) counts -> (...) Matthews correlation; 0 if a side has one tag only, NaN without tags."""
    known = np.sum(counts, axis=-1) > 0
    return np.where(known, np.nan_to_num(matthews(counts)), np.nan)[()]


def f1_bad(counts: FloatArray) -> FloatArray:
    """(..., 4) counts -> (...) F1 of BAD; NaN if neither gold nor prediction has one."""
    return f1_score(counts[..., _TP], counts[..., _FP] + counts[..., _FN])


def f1_ok(counts: FloatArray) -> FloatArray:
    """(..., 4) counts -> (...) F1 of OK; NaN if neither gold nor prediction has one."""
    return f1_score(counts[..., _TN], counts[..., _FP] + counts[..., _FN])


def f1_mult(counts: FloatArray) -> FloatArray:
    """(..., 4) counts -> (...) the product of both, the measure of WMT16 to WMT18."""
    return f1_bad(counts) * f1_ok(counts)


METRICS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    function.__name__: function for function in (mcc, f1_mult, f1_bad, f1_ok)
}
TITLES = {"mcc": "MCC", "f1_mult": "F1-mult", "f1_bad": "F1 BAD", "f1_ok": "F1 OK", "ece": "ECE"}
"""What tables call the metrics, and the expected calibration error."""

THRESHOLD_METRICS = ("mcc", "f1_mult")
"""Metrics that thresholds are chosen by."""


def check_threshold_metric(metric: str, location: str | None = None) -> None:
    known_name("metric", metric, THRESHOLD_METRICS, location=location)


def best_threshold(gold: BoolArray, bad: FloatArray, metric: str = "mcc") -> float:
    """The threshold on P(BAD) (t,) that gives the best tags, halfway between two neighbouring probabilities.

    Choose it on other segments than those it is evaluated on.
    """
    check_threshold_metric(metric)
    if not len(bad):
        raise InputError("no tags to choose a threshold on")
    order = np.argsort(bad, kind="stable")
    values = bad[order]
    below = np.flatnonzero(np.diff(values)) + 1  # so many tags are OK
    starts = np.concatenate([[0], below])
    missed = np.concatenate([[0], np.cumsum(gold[order])])[starts].astype(np.float64)
    total = float(gold.sum())
    tp, tn = total - missed, starts - missed
    counts = np.stack([tp, len(bad) - total - tn, missed, tn], axis=1)
    scores = np.nan_to_num(METRICS[metric](counts), nan=-np.inf)
    best = int(np.argmax(scores))
    if best == 0:
        return float(values[0])
    last_ok, first_bad = values[starts[best] - 1], values[starts[best]]
    middle = (last_ok + first_bad) / 2
    return float(middle if middle > last_ok else first_bad)  # neighbouring floats have no middle


def cross_thresholded(
    gold: BoolArray, bad: FloatArray, offsets: IntArray, *, folds: int = 5, metric: str = "mcc", seed: int = 0
) -> BoolArray:
    """(t,) tags from P(BAD); each fold of segments has the threshold chosen on the others."""
    segments = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    tags = np.zeros(len(bad), np.bool_)
    for learned, held_out in make_folds(len(offsets) - 1, folds, seed=seed):
        own, other = np.isin(segments, learned), np.isin(segments, held_out)
        tags[other] = bad[other] >= best_threshold(gold[own], bad[own], metric)
    return tags


@dataclass(frozen=True)
class WordReport(Printable):
    """Scores of all systems on the same tags.

    Attributes
    ----------
    scores : mapping of str to mapping of str to float
        System -> metric -> score; where probabilities are known, `ece`, and the `ece_by_chance` that true
        probabilities would have on these segments.
    ci : mapping of str to mapping of str to pair of float and float
        System -> metric -> 95 % jackknife interval over segments, none of `ece`; empty without resampling.
    reliability : mapping of str to sequence of Bin
        System -> bins of its probabilities, where these are known.
    comparisons : sequence of Pair
        All pairs, or each system with each baseline, by every metric.
    clusters : mapping of str to list of list of str
        Metric -> systems that no test separates, best first; empty with baselines, absent if nothing can
        be decided.
    tags : pair of int and int
        How many there are, and how many of them are BAD.
    """

    scores: Mapping[str, Mapping[str, float]]
    ci: Mapping[str, Mapping[str, tuple[float, float]]]
    comparisons: Sequence[Pair]
    clusters: Mapping[str, list[list[str]]]
    segments: int
    tags: tuple[int, int]
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    reliability: Mapping[str, Sequence[Bin]] = field(default_factory=dict)

    def summary(self) -> DisplayTable:
        """The systems, best first by MCC."""
        return table_by("qe.evaluation.tables.word_summary_table", self)

    def to_json(self) -> dict[str, Any]:
        """Plain values only; undefined is None."""
        return plain_fields({
            "segments": self.segments, "tags": self.tags[0], "bad": self.tags[1],
            "systems": {name: {**each, "ci": self.ci.get(name, {})} for name, each in self.scores.items()},
            "comparisons": self.comparisons, "clusters": self.clusters, "recipe": self.recipe,
            "notes": self.notes, "reliability": self.reliability,
        })  # fmt: skip


def evaluate_words(
    gold: BoolArray,
    predictions: Mapping[str, BoolArray],
    offsets: IntArray,
    settings: CorrectionSettings | None = None,
    *,
    baselines: Sequence[str] = (),
    probabilities: Mapping[str, FloatArray] | None = None,
    progress: Progress = silent,
) -> WordReport:
    """Scores every system, and compares them by exchanging their tags segment by segment.

    Tests and corrections are those of sentence-level evaluation (docs/significance.md). Raises InputError for
    systems of another length, unknown baselines, too few samples.

    Parameters
    ----------
    gold, predictions : array of bool
        (t,) whether a tag is BAD.
    probabilities : mapping of str to array of float or None, default=None
        (t,) P(BAD) of the systems that give it: its calibration is measured, too.
    offsets : array of int
        (n + 1,) where segments begin and end: segments are the units of intervals and tests.
    baselines : sequence of str, default=()
        Names among `predictions` that the others are compared with; none: all pairs.
    """
    _check(gold, predictions, offsets, baselines)
    settings = settings or CorrectionSettings()
    tests = ResamplingSettings(
        samples=settings.samples, seed=settings.seed, correct=settings.correct, family=settings.family
    )
    counts = {name: confusions(gold, tags, offsets) for name, tags in predictions.items()}
    measures = {name: Measure(slice(0, 4), metric) for name, metric in METRICS.items()}
    scored = Scored({name: each[None] for name, each in counts.items()}, measures)
    levels = Levels.from_groups(None, len(offsets) - 1)
    pairs = [(a, b) for b in baselines for a in predictions if a not in baselines]
    better = dict.fromkeys(METRICS, True)
    result = compare(scored, levels, tests, better, pairs or None, progress=progress)
    scores = scored.scores
    probabilities = probabilities or {}
    for name, bad in probabilities.items():
        by_bin = calibration_sums(gold, bad, offsets)
        scores[name] |= {"ece": float(ece(by_bin.sum(axis=0))), "ece_by_chance": ece_by_chance(by_bin)}
    ci: dict[str, dict[str, tuple[float, float]]] = {}
    for name, metric in product(counts, METRICS) if result.engine.samples else ():
        bounds = jackknife_interval(scores[name][metric], result.engine.jackknife(name, metric), CONFIDENCE)
        low = -1.0 if metric == "mcc" else 0.0
        ci.setdefault(name, {})[metric] = max(bounds[0], low), min(bounds[1], 1.0)
    recipe = {
        "samples": result.engine.samples, "seed": settings.seed, "confidence": CONFIDENCE,
        "interval": "jackknife", "units": "segments", "correction": settings.correct,
        "family": result.table.to_json(),
    }  # fmt: skip
    return WordReport(
        scores, ci, result.pairs(), {} if baselines else result.clusters(), len(offsets) - 1,
        (len(gold), int(gold.sum())), recipe,
        cautions(result.table, result.tested, levels) if result.tested else (),
        {name: reliability(gold, bad) for name, bad in probabilities.items()},
    )  # fmt: skip


def _check(
    gold: BoolArray, predictions: Mapping[str, BoolArray], offsets: IntArray, baselines: Sequence[str]
) -> None:
    for name, tags in predictions.items():
        if len(tags) != len(gold):
            raise InputError(f"{len(gold)} gold tags, but {len(tags)} of '{name}'")
    for name in baselines:
        known_name("baseline", name, predictions)
    if not len(gold) or offsets[-1] != len(gold):
        raise InputError(f"{len(gold)} gold tags, but segments of {offsets[-1]}")
