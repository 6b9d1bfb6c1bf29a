"""Two texts compared token by token, as BERTScore does it."""

from typing import Final, NamedTuple

import numpy as np

from features.encoding.encoded import Floats

_SHARES: Final = (0.1, 0.25, 0.5)


class Match(NamedTuple):
    """How well tokens are matched by the most similar one of the other text: cosines.

    precision  mean over the tokens of the first text
    recall     mean over the tokens of the second
    f1         harmonic mean of both; 0 if one of them is not above 0
    lowest     of a token of the first text
    q10, q25, q50  quantiles over the tokens of the first text
    """

    precision: float
    recall: float
    f1: float
    lowest: float
    q10: float
    q25: float
    q50: float


NO_MATCH = Match(*[float("nan")] * 7)


def best_match(first: Floats, second: Floats) -> Match:
    """Match of (k, e) and (l, e) token vectors of length 1; NaN without tokens. Source: Zhang et al. 2020
    (BERTScore), without idf.

    >>> best_match(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[:1])
    Match(precision=0.5, recall=1.0, f1=0.666..., lowest=0.0, q10=0.1..., q25=0.25, q50=0.5)
    """
    if not (len(first) and len(second)):
        return NO_MATCH
    cosines = first @ second.T
    best = cosines.max(axis=1)
    precision, recall = float(best.mean(dtype=np.float64)), float(cosines.max(axis=0).mean(dtype=np.float64))
    f1 = 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0
    quantiles = map(float, np.quantile(best.astype(np.float64), _SHARES))
    return Match(precision, recall, f1, float(best.min()), *quantiles)
