"""Features that tell most about the label's class."""

from collections.abc import Mapping
from typing import ClassVar

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Positive
from qe.config.distributions import Distribution, IntRange
from qe.learning.selectors._entropy import classes, gains
from qe.learning.selectors._ranking import RankingSelector


class InformationGain(RankingSelector):
    """H(class) - H(class | feature), in bits; see RankingSelector for what is kept.

    interval     labels are rounded to its multiples
    n_features   None: all above the threshold
    threshold    features that Fayyad and Irani's criterion cuts nowhere have gain 0 and go

    Source: WMT12 DFKI, Section 2.3; Fayyad and Irani 1993.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"n_features": IntRange(5, 200, log=True)}

    def __init__(
        self, n_features: Count | None = None, threshold: float | None = 0.0, interval: Positive = 1.0
    ) -> None:
        self.n_features = n_features
        self.threshold = threshold
        self.interval = interval

    def _scores(self, X: FloatArray, y: FloatArray) -> FloatArray:
        return gains(X, classes(y, self.interval))[0]
