"""The order that violates the fewest preferences."""

import numpy as np

from features.basics.array_types import FloatArray
from qe_human.ranking_method import PreferenceMethod
from qe_human.rankings._opponents import losses


class FeedbackArcSet(PreferenceMethod):
    """Least total of W - L over pairs ranked against the majority (Lopez 2012). Also findings of WMT 2012,
    4.4. Exact; the cost is the number of violated preferences.
    """

    def preferences(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        return np.maximum(wins - losses(wins), 0).astype(np.float64)
