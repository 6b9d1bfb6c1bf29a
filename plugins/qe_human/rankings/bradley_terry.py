"""Bradley-Terry: the strengths under which the judgements are most likely."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe_human.ranking_method import ScoreMethod
from qe_human.rankings._opponents import losses

_STEPS = 100  # Newton steps at most; WMT data take about 6
_LONGEST = 2.0  # longest step of a log-strength, so that one-sided tables cannot overshoot
_CONVERGED = 1e-10


@dataclass(frozen=True)
class BradleyTerry(ScoreMethod):
    """Strengths s: a beats b with probability s(a) / (s(a) + s(b)) (Bradley and Terry 1952). The strengths
    sum to 1. A tie is half a win for each. NaN for a system without comparisons. Newton's method, all
    tables at once.

    Parameters
    ----------
    prior : float, default=0.01
        Precision of a normal prior on log-strengths, in judgements. It gives an estimate where the
        likelihood alone has none (a system that won all, systems never connected), and is far below the
        weight of real judgements otherwise.
    """

    prior: float = 0.01
    unit: ClassVar[str] = "Bradley-Terry strength"
    rounding: ClassVar[float] = 1e-9

    def __post_init__(self) -> None:
        if not self.prior > 0:
            raise InputError(f"prior must be above 0, but got {self.prior:g}", location="bradley_terry")

    def scores(self, wins: FloatArray, ties: FloatArray) -> FloatArray:
        points = np.asarray(wins + ties / 2, np.float64)
        judged = points + losses(points)
        absent = judged.sum(axis=-1) == 0
        logs = np.where(absent, -np.inf, self.log_strengths(points))
        logs -= logs.max(axis=-1, keepdims=True, initial=-1e300)
        strengths = np.exp(logs)
        total = strengths.sum(axis=-1, keepdims=True)
        return np.where(absent, np.nan, strengths / np.where(total > 0, total, 1.0))

    def log_strengths(self, points: FloatArray) -> FloatArray:
        """(..., k) log-strengths of mean 0 for (..., k, k) points. They maximise the penalised likelihood."""
        k = points.shape[-1]
        judged = points + losses(points)
        logs = np.zeros(points.shape[:-1])
        diagonal = np.arange(k)
        for _ in range(_STEPS):
            # np.tanh does not overflow.
            chance = (1 + np.tanh((logs[..., :, None] - logs[..., None, :]) / 2)) / 2
            slope = (points - judged * chance).sum(axis=-1) - self.prior * logs
            curvature = -judged * chance * (1 - chance)
            curvature[..., diagonal, diagonal] -= curvature.sum(axis=-1) - self.prior
            step = np.linalg.solve(curvature, slope[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True, initial=0.0)
            logs += step * np.minimum(1.0, _LONGEST / np.maximum(longest, _LONGEST))
            if longest.max(initial=0.0) < _CONVERGED:
                break
        return logs
