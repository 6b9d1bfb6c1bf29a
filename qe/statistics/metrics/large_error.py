"""Large errors: percentage of segments predicted at least one label unit off (WMT12)."""

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metrics._errors import ErrorShare

_LARGE = 1.0
_DECIMAL = 1e-9  # 4.1 - 3.1 is a large error although it is 0.9999999999999996 in binary


class LargeError(ErrorShare):
    """100 x the share of segments with |predicted - gold| >= 1.0; NaN without segments.

    Source: evaluateWMTQP2012.pl ("LargeErrPerc"), without its two-decimal rounding of errors.

    >>> LargeError().score(np.array([3.1, 2.0]), np.array([4.1, 2.5]))
    50.0
    """

    title = "Large %"
    help = "percent of segments predicted a label unit off, or more"
    kind = "scoring"
    digits = 1
    json_key = "large_error_percent"
    higher_is_better = False
    interval_scale = "arcsine"

    def counts(self, errors: FloatArray) -> NDArray[np.bool_]:
        return errors >= _LARGE - _DECIMAL
