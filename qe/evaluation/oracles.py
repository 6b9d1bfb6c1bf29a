"""Oracles: rankings and scores that know the post-edits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from features.text.tokenizer import Tokenizer
from qe.data.dataset import LabelScale, Split
from qe.data.labels import hter
from qe.display.files import plain_fields
from qe.display.summary import Printable
from qe.evaluation.evaluate import evaluate
from qe.statistics.draws import Groups
from qe.statistics.settings import SignificanceSettings

ORACLES = ("effort", "hter", "bleu")
RANKING, SCORING = ("delta_avg", "spearman"), ("mae", "rmse")
EFFORT_RANGE = (1.5, 5.0)  # where the source maps oracles of effort scores
_EFFORT_SCALE = (1.0, 5.0)
SAMPLES = 1000
_TAIL = 0.05  # of the oracle's values at either end that are cut off


@dataclass(frozen=True, eq=False)
class PostEdited(Printable):
    """What an oracle knows in addition to the labels: n translations and their post-edits, as raw text."""

    target: Sequence[str]
    post_edit: Sequence[str]
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        if len(self.target) != len(self.post_edit):
            raise InputError(f"{len(self.target)} translations, but {len(self.post_edit)} post-edits")


@dataclass(frozen=True, eq=False)
class Oracle(Printable):
    """One oracle.

    Attributes
    ----------
    quality : array of float
        (n,) what it ranks by; higher is better.
    scores : array of float
        (n,) its predictions, on the label's scale.
    metrics : mapping of str to float
        DeltaAvg and Spearman of `quality`, MAE and RMSE of `scores`.
    ci : mapping of str to pair of float and float
        Metric -> 95 % jackknife interval; empty without resampling.
    mapped_to : pair of float and float or None
        (worst, best) label that the 5 % and 95 % quantiles of `quality` became; None for the labels
        themselves.
    """

    name: str
    quality: FloatArray
    scores: FloatArray
    metrics: Mapping[str, float]
    ci: Mapping[str, tuple[float, float]]
    mapped_to: tuple[float, float] | None

    def reached(self, delta_avg: float) -> float:
        """How much of the oracle's DeltaAvg a system has; NaN if the oracle has none."""
        own = self.metrics["delta_avg"]
        return delta_avg / own if own > 0 else float("nan")

    def to_json(self, systems: Mapping[str, float] | None = None) -> dict[str, Any]:
        """Plain values; `systems` (name -> DeltaAvg) adds what share of the oracle's each reaches."""
        content: dict[str, Any] = {**self.metrics, "ci": self.ci, "mapped_to": self.mapped_to}
        if systems is not None:
            content["reached"] = {name: self.reached(value) for name, value in systems.items()}
        return plain_fields(content)


def oracle(
    name: str,
    gold: FloatArray,
    scale: LabelScale,
    texts: PostEdited | None = None,
    *,
    mapped_to: tuple[float, float] | None = None,
    groups: Groups | Mapping[str, Groups] | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> Oracle:
    """One of ORACLES, scored against (n,) gold labels.

    `effort` is the labels themselves; `hter` ranks by HTER, lowest first; `bleu` by sentence BLEU against
    the post-edit. Raises InputError for an unknown name, and for absent or empty post-edits.
    Source: Callison-Burch et al. 2012, section 6.4.

    Parameters
    ----------
    mapped_to : pair of float and float or None, default=None
        (worst, best) label; by default [1.5, 5] for labels from 1 to 5, as in the source, otherwise the 5
        % and 95 % quantiles of the labels.
    groups : Groups or mapping of str to Groups or None, default=None
        Units of the intervals, as in `evaluate`.
    samples : int or None, default=None
        0: no intervals.
    """
    known_name("oracle", name, ORACLES)
    samples = SAMPLES if samples is None else samples
    labels = np.asarray(gold, np.float64)
    ends, quality, scores = None, scale.sign * labels, labels
    if name != "effort":
        quality, ends = _quality(name, texts, len(labels)), mapped_to or _ends(labels, scale)
        scores = mapped(quality, ends)
    metrics: dict[str, float] = {}
    ci: dict[str, tuple[float, float]] = {}
    for values, family in ((scale.sign * quality, RANKING), (scores, SCORING)):
        settings = SignificanceSettings(samples=samples, seed=seed)
        report = evaluate(labels, {name: values}, scale, settings, metrics=family, groups=groups)
        metrics |= report.systems[name].metrics
        ci |= report.systems[name].ci
    return Oracle(name, quality, scores, metrics, ci, ends)


@dataclass(frozen=True, eq=False)
class SplitOracles:
    """All oracles of some segments by name, and why others are undefined."""

    oracles: Mapping[str, Oracle]
    undefined: Mapping[str, str]

    def to_json(self, systems: Mapping[str, float]) -> dict[str, Any]:
        """Plain values by name, as `Oracle.to_json`; null figures and the reason for undefined ones."""
        nothing = dict.fromkeys((*RANKING, *SCORING))
        return {
            **{name: oracle.to_json(systems) for name, oracle in self.oracles.items()},
            **{name: {**nothing, "undefined": reason} for name, reason in self.undefined.items()},
        }


def split_oracles(split: Split, scale: LabelScale, *, samples: int | None, seed: int) -> SplitOracles | None:
    if split.post_edit is None or split.scores is None:
        return None
    segments = split.segments
    tokenizer = replace(segments.target_tokenizer, normalise=False)  # typographic changes are edits
    texts = PostEdited(segments.target, split.post_edit, tokenizer)
    known, undefined = {}, {}
    for name in ORACLES:
        try:
            known[name] = oracle(name, split.scores, scale, texts, samples=samples, seed=seed)
        except InputError as error:
            undefined[name] = str(error)
    return SplitOracles(known, undefined)


def mapped(quality: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """(n,) labels: quality with its 5 % and 95 % quantiles mapped onto the ends, and cut off there.

    If the two quantiles are equal, everything becomes the middle.

    >>> mapped(np.arange(21.0), (1.5, 5.0))[[0, 1, 10, 19, 20]].tolist()
    [1.5, 1.5, 3.25, 5.0, 5.0]
    """
    low, high = np.quantile(quality, [_TAIL, 1 - _TAIL])
    if low == high:
        return np.full(len(quality), (ends[0] + ends[1]) / 2)
    share = np.clip((quality - low) / (high - low), 0.0, 1.0)
    return np.asarray(ends[0] + share * (ends[1] - ends[0]))


def _ends(gold: FloatArray, scale: LabelScale) -> tuple[float, float]:
    low, high = _EFFORT_SCALE
    if scale.higher_is_better and low <= gold.min() and gold.max() <= high:
        return EFFORT_RANGE
    ends = np.quantile(gold, [_TAIL, 1 - _TAIL])
    return (float(ends[0]), float(ends[1])) if scale.higher_is_better else (float(ends[1]), float(ends[0]))


def _quality(name: str, texts: PostEdited | None, segments: int) -> FloatArray:
    if texts is None:
        raise InputError(f"the oracle {name} needs translations and post-edits")
    if len(texts.post_edit) != segments:
        raise InputError(f"{len(texts.post_edit)} post-edits, but {segments} gold labels")
    empty = [i for i, text in enumerate(texts.post_edit, start=1) if not text.strip()]
    if empty:
        raise InputError(f"segment {empty[0]} has an empty post-edit: the oracle {name} is undefined there")
    if name == "hter":
        return -hter(*(texts.tokenizer.tokens(side) for side in (texts.target, texts.post_edit)))
    metric = BLEU(lowercase=True, tokenize="none", effective_order=True)
    pairs = zip(texts.target, texts.post_edit, strict=True)
    return np.array([metric.sentence_score(target, [edited]).score for target, edited in pairs])
