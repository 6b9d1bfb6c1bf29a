"""Short names for types of arrays, and options for compiled functions."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


# For functions that are called millions of times and only read and write arrays of their callers: references
# to these are not counted. Counting, two atomic additions for every array of every call, took two thirds of
# the decoder's time. Such a function cannot make an array.
UNCOUNTED: Final[dict[str, Any]] = {"cache": True, "nogil": True, "_nrt": False}
