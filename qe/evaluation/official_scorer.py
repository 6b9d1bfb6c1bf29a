"""The official scorer of the WMT12 quality-estimation task, evaluateWMTQP2012.pl 1.1, quirks included."""

from dataclasses import dataclass, replace

import numpy as np

from features.basics.errors import InputError
from qe.data.score_files import Submission
from qe.display.summary import Record
from qe.statistics.metrics.ranking import delta_avg_by_n


@dataclass(frozen=True)
class OfficialScores(Record):
    """What the scorer prints of one submission; None if ranks, or scores, were not submitted.

    Attributes
    ----------
    delta_avg : float or None
        From the submitted ranks; 0 for fewer than 4 segments.
    spearman : float or None
        1 - 6 sum d^2 / (n (n^2 - 1)) on the submitted ranks; 1 for one segment.
    mae, rmse, large_error_percent, small_error_percent : float or None
        Each error rounded to two decimals first.
    interval : pair of float and float or None
        Smallest and largest score.
    """

    n: int
    delta_avg: float | None = None
    spearman: float | None = None
    mae: float | None = None
    rmse: float | None = None
    large_error_percent: float | None = None
    small_error_percent: float | None = None
    interval: tuple[float, float] | None = None


def official_scores(gold: Submission, submitted: Submission) -> OfficialScores:
    """Scores a submission against gold labels and gold ranks."""
    if gold.scores is None or gold.ranks is None:
        raise InputError("the gold labels need both scores and ranks")
    if submitted.segments != gold.segments:
        raise InputError(f"{gold.segments} gold segments, but {submitted.segments} of '{submitted.method}'")
    scores, size = OfficialScores(gold.segments), gold.segments
    if submitted.ranks is not None:
        by_n = delta_avg_by_n(gold.scores, -submitted.ranks.astype(np.float64))
        squares = float(np.sum((gold.ranks - submitted.ranks).astype(np.float64) ** 2))
        spearman = 1.0 - 6.0 * squares / (size * (size**2 - 1.0)) if size > 1 else 1.0
        scores = replace(scores, delta_avg=float(by_n.mean()) if len(by_n) else 0.0, spearman=spearman)
    if submitted.scores is not None:
        differences = (submitted.scores - gold.scores).tolist()
        errors = np.array([float(f"{abs(value):.2f}") for value in differences])
        scores = replace(
            scores,
            mae=float(errors.mean()),
            rmse=float(np.sqrt(np.mean(errors**2))),
            large_error_percent=100.0 * float(np.mean(errors >= 1.0)),
            small_error_percent=100.0 * float(np.mean(errors <= 0.1)),
            interval=(float(submitted.scores.min()), float(submitted.scores.max())),
        )
    return scores


def official_lines(submitted: Submission, scores: OfficialScores) -> str:
    """The two lines of the scorer, with 12 digits instead of its 2; `--` for what was not submitted."""
    method = f"{submitted.method:>30}"
    ranking = ["  --" if value is None else f"{value:.12f}" for value in (scores.delta_avg, scores.spearman)]
    errors = ["  --" if value is None else f"{value:.12f}" for value in (scores.mae, scores.rmse)]
    shares = [
        "   --" if value is None else f"{value:.10f}"
        for value in (scores.large_error_percent, scores.small_error_percent)
    ]
    interval = ""
    if scores.interval is not None:
        interval = "\t Interval = [{:.10f}-{:.10f}]".format(*scores.interval)
    return (
        f"{method}\t:: Ranking: (primary)  DeltaAvg  = {ranking[0]}\t"
        f" (secondary)  Spearman-Corr = {ranking[1]}\n"
        f"{method}\t:: Scoring: (primary) MeanAvgErr = {errors[0]}\t"
        f" (secondary) RootMeanSqrErr = {errors[1]}\t"
        f" LargeErrPerc = {shares[0]}\t"
        f" SmallErrPerc = {shares[1]}{interval}\n"
    )
