"""Share of the bad segments that publishing the best-predicted ones lets through."""

import re
from dataclasses import dataclass
from typing import Self

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from qe.data.dataset import LabelScale
from qe.data.headers import HIGHER, LOWER, key_of
from qe.display.numbers import general

_BAD = re.compile(r"\s*(?P<label>[^<>=]*?)\s*(?P<sign>[<>])(?P<equal>=?)\s*(?P<limit>[-+.\deE]+)\s*")


@dataclass(frozen=True)
class BadLabels:
    """Which labels are bad, such as `hter>0.3`: those beyond a limit, or at it (`with_limit`).

    `label` may be empty; if `higher_is_better`, the low ones are bad.
    """

    label: str
    limit: float
    higher_is_better: bool
    with_limit: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `LABEL>NUMBER` (`>=`, `<`, `<=`); raises InputError if that is the good side of the label.

        >>> BadLabels.parse("hter>0.3").mask(np.array([0.3, 0.4])).tolist()
        [False, True]
        """
        match = _BAD.fullmatch(text)
        try:
            limit = float(match["limit"]) if match else np.nan
        except ValueError:
            limit = np.nan
        if match is None or not np.isfinite(limit):
            raise InputError(f"bad segments are given as 'hter>0.3' or 'da<60', but got {text!r}")
        higher, label = match["sign"] == "<", match["label"]
        if key_of(label) in (LOWER if higher else HIGHER):
            raise InputError(f"{text!r} calls the better labels bad", remedy="turn the sign round")
        return cls(label, limit, higher, bool(match["equal"]))

    @classmethod
    def worst_quarter(cls, gold: FloatArray, scale: LabelScale) -> Self:
        """Labels beyond that of the worst quarter; with it, if it is the worst of all."""
        limit = float(np.quantile(scale.sign * gold, 0.25)) * scale.sign
        worst = (gold.min() if scale.higher_is_better else gold.max()) == limit
        return cls(scale.name, limit, scale.higher_is_better, bool(worst))

    def __str__(self) -> str:
        sign = ("<" if self.higher_is_better else ">") + "=" * self.with_limit
        return f"{self.label}{sign}{general(self.limit)}"

    def check(self, scale: LabelScale) -> None:
        """Raises InputError if the labels have another name or direction than the scale of a model."""
        same = not self.label or key_of(self.label) == key_of(scale.name)
        if not same or self.higher_is_better != scale.higher_is_better:
            sign = "<" if scale.higher_is_better else ">"
            raise InputError(f"bad labels of this model are given as '{scale.name}{sign}NUMBER'")

    def mask(self, gold: FloatArray) -> BoolArray:
        """(n,) whether each label is bad."""
        worse = gold < self.limit if self.higher_is_better else gold > self.limit
        return np.asarray(worse | (gold == self.limit) & self.with_limit)


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Share of all bad segments that publishing the best-predicted ones lets through.

    published  (k,) share of the segments that are published, from 0 to 1
    errors     (k,) share of the bad segments among them
    ci         (k, 2) its 95 % bootstrap interval
    """

    published: FloatArray
    errors: FloatArray
    ci: FloatArray


def ranks(ranked: FloatArray, shares: FloatArray) -> list[int]:
    """Numbers of segments, best first, with at least these shares: equal predictions go together."""
    ends = np.append(np.flatnonzero(np.diff(ranked)) + 1, len(ranked))
    wanted = np.ceil(np.round(shares * len(ranked), 6))
    return [int(end) for end in np.unique(ends[np.searchsorted(ends, wanted)])]


def error_curve(
    quality: FloatArray, bad: BoolArray, units: IntArray, samples: int = 1000, seed: int = 0
) -> ErrorCurve:
    """The curve of segments of this quality, of which some are bad; whole units are drawn."""
    from qe.statistics.bootstrap import bootstrap_scores  # slow to import, and not needed to check a plan

    order = np.argsort(-quality, kind="stable")
    published = np.array([0, *ranks(quality[order], np.linspace(0.02, 1, 50))])
    first = np.arange(len(order))[:, np.newaxis] < published
    errors = (bad[order, np.newaxis] & first).astype(np.float64)

    def shares(sums: FloatArray) -> FloatArray:
        return sums / np.maximum(sums[..., -1:], 1)  # without bad segments, none is let through

    drawn = bootstrap_scores(errors, shares, samples=samples, seed=seed, groups=units[order])[0]
    ci = np.quantile(drawn, [0.025, 0.975], axis=0).T
    return ErrorCurve(published / len(order), shares(errors.sum(axis=0)), ci)
