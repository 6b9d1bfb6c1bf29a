"""Small errors: percentage of segments predicted at most 0.1 label units off (WMT12)."""

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metrics._errors import ErrorShare

_SMALL = 0.1
_DECIMAL = 1e-9  # 3.1 - 3.0 is a small error although it is 0.10000000000000009 in binary


class SmallError(ErrorShare):
    """100 x the share of segments with |predicted - gold| <= 0.1; NaN without segments.

    Source: evaluateWMTQP2012.pl ("SmallErrPerc"), without its two-decimal rounding of errors.

    >>> SmallError().score(np.array([3.0, 2.0]), np.array([3.1, 2.5]))
    50.0
    """

    title = "Small %"
    help = "percent of segments predicted at most a tenth of a label unit off"
    kind = "scoring"
    digits = 1
    json_key = "small_error_percent"
    higher_is_better = True
    interval_scale = "arcsine"

    def counts(self, errors: FloatArray) -> NDArray[np.bool_]:
        return errors <= _SMALL + _DECIMAL
