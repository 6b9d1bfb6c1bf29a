"""The official scorer of the WMT12 quality-estimation task, quirks included (evaluateWMTQP2012.pl 1.1)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from qe.metrics.delta_avg import delta_avg_by_n
from qe.submission import Submission

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class OfficialScores:
    """What the scorer prints of one submission.

    delta_avg  from the submitted ranks; 0 for fewer than 4 segments
    spearman   1 - 6 sum d^2 / (n (n^2 - 1)) on the submitted ranks; 1 for one segment
    mae, rmse, large_error_percent, small_error_percent   each error rounded to two decimals first
    interval   smallest and largest score
    """

    delta_avg: float
    spearman: float
    mae: float
    rmse: float
    large_error_percent: float
    small_error_percent: float
    interval: tuple[float, float]
    n: int

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "interval": list(self.interval)}


def official_scores(gold: Submission, submitted: Submission) -> OfficialScores:
    """Scores a submission against gold labels and gold ranks.

    Raises InputError where the two hold another number of segments.
    """
    size = len(gold.scores)
    if len(submitted.scores) != size:
        raise InputError(f"{size} gold segments, but {len(submitted.scores)} of '{submitted.method}'")
    errors = _rounded(submitted.scores - gold.scores)
    by_n = delta_avg_by_n(gold.scores, -submitted.ranks.astype(np.float64))
    squares = float(np.sum((gold.ranks - submitted.ranks).astype(np.float64) ** 2))
    return OfficialScores(
        delta_avg=float(by_n.mean()) if len(by_n) else 0.0,
        spearman=1.0 - 6.0 * squares / (size * (size**2 - 1.0)) if size > 1 else 1.0,
        mae=float(errors.mean()),
        rmse=float(np.sqrt(np.mean(errors**2))),
        large_error_percent=100.0 * float(np.mean(errors >= 1.0)),
        small_error_percent=100.0 * float(np.mean(errors <= 0.1)),
        interval=(float(submitted.scores.min()), float(submitted.scores.max())),
        n=size,
    )


def official_lines(submitted: Submission, scores: OfficialScores) -> str:
    """The two lines of the scorer, with 12 digits instead of its 2."""
    low, high = scores.interval
    return (
        f"{submitted.method:>30}\t:: Ranking: (primary)  DeltaAvg  = {scores.delta_avg:.12f}\t"
        f" (secondary)  Spearman-Corr = {scores.spearman:.12f}\n"
        f"{submitted.method:>30}\t:: Scoring: (primary) MeanAvgErr = {scores.mae:.12f}\t"
        f" (secondary) RootMeanSqrErr = {scores.rmse:.12f}\t"
        f" LargeErrPerc = {scores.large_error_percent:.10f}\t"
        f" SmallErrPerc = {scores.small_error_percent:.10f}\t"
        f" Interval = [{low:.10f}-{high:.10f}]\n"
    )


def _rounded(differences: FloatArray) -> FloatArray:
    """|difference| as "%.2f" prints it: the exact binary value rounded to two decimals."""
    return np.array([float(f"{abs(value):.2f}") for value in differences.tolist()])
