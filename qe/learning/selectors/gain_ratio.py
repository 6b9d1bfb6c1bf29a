"""Information gain relative to the feature's own entropy."""

import numpy as np

from features.basics.array_types import FloatArray
from qe.learning.selectors._entropy import classes, gains
from qe.learning.selectors.information_gain import InformationGain


class GainRatio(InformationGain):
    """Information gain / H(feature), 0 .. 1; see InformationGain for the parameters.

    Source: WMT12 DFKI, Section 2.3; Quinlan 1986.
    """

    def _scores(self, X: FloatArray, y: FloatArray) -> FloatArray:
        gain, own = gains(X, classes(y, self.interval))
        return np.where(own > 0, gain, 0.0) / np.where(own > 0, own, 1.0)
