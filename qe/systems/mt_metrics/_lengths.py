"""Which reference a segment is measured against."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from features.text.tokens import Tokens


def closest_lengths(hypotheses: Tokens, references: Sequence[Tokens]) -> NDArray[np.int64]:
    """(n,) length of the reference closest in length to each hypothesis.

    The shorter one if two are as close.
    """
    lengths = np.sort(np.array([column.lengths for column in references]), axis=0)
    nearest = np.abs(lengths - hypotheses.lengths).argmin(axis=0)
    closest: NDArray[np.int64] = lengths[nearest, np.arange(lengths.shape[1])]
    return closest
