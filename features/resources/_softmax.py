"""What a softmax over many words says of one of them, in single precision, compiled."""

import math
from typing import Any, Final

import numba
import numpy as np

_TOGETHER: Final = 64  # terms that are summed in single precision
_LEAST: Final = np.float32(-87.0)  # logarithm of about the least single that is no fraction of it
_LOG2E: Final = np.float32(1 / math.log(2))
# Taylor series of 2^x for -.5 <= x <= .5: the first term left out is below 1.3e-7 of the sum, half of a bit.
_C1, _C2, _C3, _C4, _C5, _C6 = (np.float32(math.log(2) ** n / math.factorial(n)) for n in range(1, 7))
_LOWEST: Final = np.finfo(np.float32).min
_HALF: Final = np.float32(0.5)
_ONE: Final = np.float32(1.0)
# Sums may be taken in another order than written, the same one for every row; logits are finite.
_MATH: Final = {"reassoc", "contract", "nsz", "nnan", "ninf"}


@numba.njit(cache=True, nogil=True, fastmath=_MATH)
def _highest(logits: Any, bias: Any, parts: Any) -> Any:
    parts[:] = _LOWEST
    for first in range(0, len(logits), len(parts)):
        some, more = logits[first : first + len(parts)], bias[first : first + len(parts)]
        for j in range(len(some)):
            some[j] += more[j]
            parts[j] = max(parts[j], some[j])
    return parts.max()


@numba.njit(cache=True, nogil=True, fastmath=_MATH)
def _sums(logits: Any, highest: Any, own_logit: Any, parts: Any, powers: Any) -> Any:
    scales = powers.view(np.float32)
    total, weighted, above = 0.0, 0.0, 0
    for first in range(0, len(logits), len(parts)):
        some = logits[first : first + len(parts)]
        for j in range(len(some)):
            x = max(some[j] - highest, _LEAST) * _LOG2E
            whole = np.floor(x + _HALF)
            f = x - whole
            parts[j] = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * _C6)))))
            powers[j] = (np.int32(whole) + np.int32(127)) << np.int32(23)  # the bits of 2^whole
        e: Any = np.float32(0)
        xe: Any = np.float32(0)
        more: Any = np.int32(0)
        for j in range(len(some)):
            raised = parts[j] * scales[j]
            e += raised
            xe += raised * (some[j] - highest)
            more += np.int32(some[j] > own_logit)
        total += e
        weighted += xe
        above += more
    return total, weighted, above


@numba.njit(cache=True, nogil=True)
def summarise(logits: Any, bias: Any, words: Any, result: Any) -> None:
    """Writes scores of n words by the softmax over their rows. Log-probability, log of 1 + more probable
    words, log-probability of the best word less its own, entropy; natural logarithms.

    logits  (n, m) of single precision, without the (m,) `bias`; changed
    result  (n, 4)
    """
    parts, powers = np.empty(_TOGETHER, np.float32), np.empty(_TOGETHER, np.int32)
    for row in range(len(words)):
        highest = _highest(logits[row], bias, parts)
        own_logit = logits[row, words[row]]
        total, weighted, above = _sums(logits[row], highest, own_logit, parts, powers)
        result[row, 0] = own_logit - highest - math.log(total)
        result[row, 1] = math.log1p(above)
        result[row, 2] = highest - own_logit
        result[row, 3] = math.log(total) - weighted / total
