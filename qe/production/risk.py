"""Thresholds with a guarantee: with some confidence, at most a given share of published segments is bad.

Learn then Test (Angelopoulos, Bates, Candès, Jordan and Lei 2021): exact binomial p-values, and
fixed-sequence testing from the strictest threshold on.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil, log, log1p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.hints import checked
from qe.display.numbers import count, number, p_value, percent
from qe.display.summary import Printable
from qe.display.table import Column, Table
from qe.evaluation.coverage import BadLabels, ErrorCurve, error_curve, ranks
from qe.statistics.draws import Groups, group_index

_TESTED = np.linspace(0.1, 1, 46)  # shares of the segments that the tested thresholds publish
_MAX_LABELS = 1_000_000


@dataclass(frozen=True)
class RiskThreshold:
    """The threshold of one group of segments, and what it does to the labelled ones.

    publish        predictions at least as good are published; None: no segment
    labels         labelled segments
    published      those that the threshold publishes, or the strictest would
    published_bad  bad ones among them
    p              p-value of the hypothesis that more than the stated share is bad; without a threshold, that
                   of the strictest tested threshold
    needed         without a threshold: labels that the strictest one needs, if the share of bad ones stays as
                   it is; None: no number of labels suffices
    """

    publish: float | None
    labels: int
    published: int
    published_bad: int
    p: float
    needed: int | None = None


@dataclass(frozen=True)
class RiskControl(Printable):
    """Thresholds by group of segments (without groups, of the empty string), their guarantee and curves."""

    bad: str
    risk: float
    confidence: float
    documents: bool
    thresholds: Mapping[str, RiskThreshold]
    curves: Mapping[str, ErrorCurve]

    @property
    def complete(self) -> bool:
        """Whether every group has a threshold."""
        return all(threshold.publish is not None for threshold in self.thresholds.values())

    def to_json(self) -> dict[str, Any]:
        """Without groups, a file of thresholds as `qe score --triage` reads it."""
        names = ("bad", "risk", "confidence", "documents", "verdict")
        settings = {name: getattr(self, name) for name in names}
        groups = {name: asdict(threshold) for name, threshold in self.thresholds.items()}
        return {**settings, **({**groups[""], "retranslate": None} if "" in groups else {"groups": groups})}

    @property
    def verdict(self) -> str:
        """What is guaranteed, in words, and which groups have no threshold."""
        unit = " Each document counts as one label." * self.documents
        groups = " in each group by itself" * ("" not in self.thresholds)
        guarantee = (
            f"with confidence {percent(self.confidence, 0)}{groups}, at most {percent(self.risk)} of the "
            f"published segments are bad ({self.bad}), if new segments are drawn as the labelled ones were."
            f"{unit}"
        )
        missing = []
        for name, threshold in self.thresholds.items():
            if threshold.publish is not None:
                continue
            remedy = "at this share no number of labels suffices"
            if threshold.needed is not None:
                remedy = f"if this share stays, about {count(threshold.needed)} labels are needed"
            tested = f"{threshold.published_bad} of the best {threshold.published} are bad; {remedy}"
            missing.append(f"group '{name}': " * bool(name) + f"no threshold: {tested}")
        return "; ".join([*missing, *([guarantee] if len(missing) < len(self.thresholds) else [])])

    def summary(self) -> Table:
        rows, better = [], "at least" if BadLabels.parse(self.bad).higher_is_better else "at most"
        for name, threshold in self.thresholds.items():
            rule = "never" if threshold.publish is None else f"predicted {better} {number(threshold.publish)}"
            shares = threshold.published / threshold.labels, threshold.published_bad / threshold.published
            tested = [count(threshold.published), *map(percent, shares), p_value(threshold.p, None)]
            rows.append([name or "all", count(threshold.labels), rule, *tested])
        titles = ("group", "labels", "publish", "tested", "share", "bad", "p")
        return Table("", [Column(title) for title in titles], rows, [self.verdict])


@checked
def triage(
    gold: "ArrayLike",
    predictions: "ArrayLike",
    *,
    bad: str,
    risk: float = 0.05,
    confidence: float = 0.9,
    domains: Groups | None = None,
    documents: Groups | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> RiskControl:
    """Find the threshold that publishes most while few published segments are bad.

    The tested thresholds publish 10 %, 12 %, ... of the segments; the strictest comes first, and testing ends
    with the first that fails. Predictions must be of segments that the model has not learned from (out of
    fold, or a test set). The guarantee holds for segments drawn as these were, independently.

    Parameters
    ----------
    gold, predictions : array-like of shape (n,)
        Labels and predictions; finite.
    bad : str
        Which labels are bad: `hter>0.3`, `da<60`.
    risk : float, default=0.05
        Highest share of bad segments among the published ones.
    confidence : float, default=0.9
        Probability, over draws of the labelled segments, that the threshold keeps to that share.
    domains : sequence of shape (n,), default=None
        Domain (or another group) of each segment: each gets a threshold with the confidence by itself.
    documents : sequence of shape (n,), default=None
        Document of each segment: labels of one document count as one label, so that they may depend on each
        other.
    samples, seed : int
        Of the bootstrap intervals of the curves.

    Raises
    ------
    InputError
        For fewer labels than any threshold needs, with their number.
    """
    labels, predicted = np.asarray(gold, np.float64), np.asarray(predictions, np.float64)
    if labels.ndim != 1 or labels.shape != predicted.shape or not np.isfinite([labels, predicted]).all():
        raise InputError("labels and predictions must be finite numbers, one of each a segment")
    for name, value in {"risk": risk, "confidence": confidence}.items():
        if not 0 < value < 1:
            raise InputError(f"0 < {name} < 1 must hold, but got {value:g}")
    rule = BadLabels.parse(bad)
    is_bad, quality = rule.mask(labels), predicted if rule.higher_is_better else -predicted
    units = group_index(range(len(labels)) if documents is None else documents, len(labels))[0]
    parts = {"": np.arange(len(labels))}
    if domains is not None:
        index, groups = group_index(domains, len(labels))
        by_domain = [np.flatnonzero(index == group) for group in range(groups)]
        parts = {str(domains[rows[0]]): rows for rows in by_domain}
    least, few = min_labels(risk, 1 - confidence), []
    for name, rows in parts.items():
        required = ceil(least * _labels_per_unit(units[rows]))
        if len(rows) < required:
            few.append(f"{name or 'there'}: {len(rows)} of {required}")
    if few:
        raise InputError(
            f"too few labels for a risk of {risk:g} at confidence {confidence:g}: {', '.join(few)}",
            remedy="label more segments, or ask for a higher risk or a lower confidence",
        )
    thresholds, curves = {}, {}
    for name, rows in parts.items():
        chosen = is_bad[rows], units[rows]
        thresholds[name] = _threshold(predicted[rows], quality[rows], *chosen, risk, 1 - confidence)
        curves[name] = error_curve(quality[rows], *chosen, samples, seed)
    return RiskControl(bad, risk, confidence, documents is not None, thresholds, curves)


def min_labels(risk: float, error: float) -> int:
    """Number of labels that suffice, if none is bad, for a share of at most `risk` at confidence 1 - `error`.

    >>> min_labels(0.05, 0.1), min_labels(0.01, 0.05)
    (45, 299)
    """
    return ceil(log(error) / log1p(-risk))


def _labels_per_unit(units: IntArray) -> float:
    """How many labels count as one, if those of a unit are all alike (Kish's design effect)."""
    sizes = np.bincount(units)
    return float(np.sum(sizes**2) / np.sum(sizes))


def _threshold(
    predicted: FloatArray, quality: FloatArray, bad: BoolArray, units: IntArray, risk: float, error: float
) -> RiskThreshold:
    order = np.argsort(-quality, kind="stable")
    least, total, best = min_labels(risk, error), len(quality), None
    for published in ranks(quality[order], _TESTED):
        per_unit = _labels_per_unit(units[order[:published]])
        if published < least * per_unit:
            continue
        wrong = int(bad[order[:published]].sum())
        # P(at most so many bad ones) if the share is `risk`: the binomial distribution, also of fractions
        good = published - wrong
        p = float(betainc(good / per_unit, wrong / per_unit + 1, 1 - risk)) if good else 1.0
        if p > error:
            if best is None:
                needed = _needed(wrong / published, published / total, per_unit, risk, error)
                best = RiskThreshold(None, total, published, wrong, p, needed)
            break
        best = RiskThreshold(float(predicted[order[published - 1]]), total, published, wrong, p)
    assert best is not None  # all segments are enough
    return best


def _needed(rate: float, share: float, per_unit: float, risk: float, error: float) -> int | None:
    published = np.unique(np.geomspace(1, _MAX_LABELS, 2000).round())
    enough = betainc(published * (1 - rate), published * rate + 1, 1 - risk) <= error
    return ceil(published[np.argmax(enough)] * per_unit / share) if enough.any() else None
