"""The official score of WMT 2007 to 2011: the share of comparisons not lost."""

from typing import ClassVar

from features.basics.array_types import FloatArray
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses, share


class Official(ScoreMethod):
    """(W + T) / (W + T + L) over all opponents (Lopez 2012, Eq. 1). The human reference is one of the
    opponents. NaN for a system without comparisons.

    >>> import numpy as np
    >>> Official().scores(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]])).tolist()
    [0.75, 0.5]
    """

    counts_reference: ClassVar[bool] = True
    unit: ClassVar[str] = "share of comparisons not lost"

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        kept = (wins + ties).sum(axis=-1)
        return share(kept, kept + losses(wins).sum(axis=-1))
