"""Companions: what training leaves beside the model for those who score with it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from qe.dataset import LabelScale, Split
from qe.drift import Profile
from qe.explanation import Background
from qe.intervals import Intervals, cross_conformal, split_conformal
from qe.model import Companion

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Companions:
    """Intervals from out-of-fold predictions, rows for explanations, a profile of the training data."""

    intervals: Intervals
    background: Background
    profile: Profile

    def all(self) -> tuple[Companion, ...]:
        """In the order in which they are saved."""
        return (self.intervals, self.background, self.profile)

    def report(self) -> dict[str, Any]:
        """The coverage of the intervals, for report.json."""
        measured = [asdict(entry) for entry in self.intervals.measured]
        return {"method": self.intervals.method, "n": len(self.intervals.scores), "coverage": measured}

    def metrics(self) -> dict[str, float]:
        """The same as flat metrics, for MLflow: `intervals.coverage_90`, `intervals.width_90`."""
        found = {}
        for entry in self.intervals.measured:
            percent = f"{100 * entry.level:g}"
            found[f"intervals.coverage_{percent}"] = entry.coverage
            found[f"intervals.width_{percent}"] = entry.width
        return found


@dataclass(frozen=True, eq=False)
class Calibration:
    """Labelled rows that the model never saw: (n, k) features, (n,) predictions, (n,) gold labels."""

    features: FloatArray
    predicted: FloatArray
    gold: FloatArray


def make_companions(
    training: Split,
    features: pd.DataFrame,
    out_of_fold: FloatArray,
    held_out: Sequence[Rows],
    scale: LabelScale,
    seed: int = 0,
    calibration: Calibration | None = None,
) -> Companions:
    """From the training rows: (n, k) features, (n,) out-of-fold predictions, the rows of every fold.

    With `calibration`, intervals are split-conformal: the difficulty is learned from the training rows, how
    far intervals reach from the others.
    """
    assert training.scores is not None  # training_split has checked
    table = features.to_numpy(np.float64)
    intervals = cross_conformal(table, out_of_fold, training.scores, held_out, scale, seed=seed)
    if calibration is not None:
        intervals = split_conformal(
            intervals, calibration.features, calibration.predicted, calibration.gold, seed=seed
        )
    return Companions(
        intervals,
        Background.make(table, seed),
        Profile.make(training.segments, table, list(features.columns), seed),
    )
