"""Confidence intervals of a score, or of a difference of scores, from its bootstrap distribution."""

import numpy as np
from scipy.special import ndtr, ndtri

from qe.significance.result import Aggregate, FloatArray, Rescore


def percentile_interval(scores: FloatArray, confidence: float = 0.95) -> tuple[float, float]:
    """The central `confidence` share of (samples,) bootstrap scores; NaN if any score is NaN."""
    if np.isnan(scores).any():
        return float("nan"), float("nan")
    outside = (1.0 - confidence) / 2.0
    low, high = np.quantile(scores, [outside, 1.0 - outside])
    return float(low), float(high)


def bca_interval(
    scores: FloatArray, observed: float, jackknife: FloatArray, confidence: float = 0.95
) -> tuple[float, float]:
    """Bias-corrected and accelerated interval; NaN if any score is NaN.

    scores     (samples,) bootstrap scores
    observed   the score on the real test set
    jackknife  (m,) scores with one segment (or block of segments) left out, see `jackknife_scores`

    Where all bootstrap scores lie on one side of the observed one, the correction is undefined and the
    interval is NaN. Source: Efron and Tibshirani 1993, section 14.3.
    """
    if np.isnan(scores).any() or np.isnan(jackknife).any() or np.isnan(observed):
        return float("nan"), float("nan")
    if scores.min() == scores.max():
        return float(scores[0]), float(scores[0])
    below = np.mean(scores < observed) + np.mean(scores == observed) / 2.0
    bias = ndtri(below)
    deviations = jackknife.mean() - jackknife
    spread = float(np.sum(deviations**2))
    acceleration = float(np.sum(deviations**3)) / (6.0 * spread**1.5) if spread > 0 else 0.0
    tails = bias + ndtri([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    if not np.isfinite(tails).all():
        return float("nan"), float("nan")
    low, high = np.quantile(scores, ndtr(bias + tails / (1.0 - acceleration * tails)))
    return float(low), float(high)


def jackknife_scores(statistics: FloatArray, aggregate: Aggregate) -> FloatArray:
    """(n,) scores with each of the n rows of (n, k) statistics left out; exact, from the sums."""
    return aggregate(statistics.sum(axis=0) - statistics)


def jackknife_rescored(rescore: Rescore, rows: int, blocks: int = 500) -> FloatArray:
    """(min(rows, blocks),) scores with each segment, or each of `blocks` interleaved blocks, left out."""
    blocks = min(rows, blocks)
    scores = np.empty(blocks)
    for block in range(blocks):
        counts = np.ones((1, rows), np.int32)
        counts[0, block::blocks] = 0
        scores[block] = rescore(counts)[0]
    return scores
