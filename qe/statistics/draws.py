"""Counter-based random numbers: a draw depends only on (seed, sample, position).

So the same seed gives the same numbers whatever the block size or thread count, and systems and metrics
that use the same seed share their draws. The generator is SplitMix64 (Steele, Lea and Flood 2014), one
stream per sample.
"""

from typing import Any

import numba
import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-52


@numba.njit(cache=True, nogil=True)
def mix(x: Any) -> Any:
    """The SplitMix64 finalizer: a bijection of 64-bit integers."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def stream(seed: int, sample: int) -> Any:
    """The key of one sample's stream."""
    return mix(mix(np.uint64(seed) + _GOLDEN) + np.uint64(sample) * _GOLDEN)


@numba.njit(cache=True, nogil=True)
def word(key: Any, position: int) -> Any:
    """64 random bits."""
    return mix(key + np.uint64(position + 1) * _GOLDEN)


@numba.njit(cache=True, nogil=True)
def below(bits: Any, size: int) -> int:
    """A uniform integer 0 .. size - 1 from 64 random bits."""
    # 52 bits: the product cannot round up to `size`.
    return int(float(bits >> np.uint64(12)) * (size * _TO_UNIT))


def independent_seed(seed: int, stream_number: int) -> int:
    """A seed for another stream of draws; stream 0 is the seed itself."""
    if stream_number == 0:
        return seed
    return int(np.random.SeedSequence([seed, stream_number]).generate_state(1, np.uint64)[0] >> np.uint64(1))
