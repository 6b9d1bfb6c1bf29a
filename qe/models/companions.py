"""Companions: artifacts that training saves with a model and scoring uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.segments import Segments
from features.core.tree_columns import numbers, without_trees
from qe.data.dataset import LabelScale, Split
from qe.models.drift import Profile
from qe.models.explanation import Background
from qe.models.intervals import (
    LEVELS,
    CalibrationRows,
    DensityRatio,
    Intervals,
    cross_conformal,
    split_conformal,
)
from qe.models.model import Companion
from qe.models.taxonomy import Column, Grouping
from qe.models.training_rows import HeldOutPredictions, Learned
from qe.models.word_tags import WordTags

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Companions:
    """Intervals, explanation background, data profile, known segments and word tags of a model."""

    intervals: Intervals
    background: Background
    profile: Profile
    learned: Learned
    held_out_predictions: HeldOutPredictions
    word_tags: WordTags | None = None

    def all(self) -> tuple[Companion, ...]:
        return tuple(part for part in vars(self).values() if part is not None)

    def report(self) -> dict[str, Any]:
        intervals = self.intervals
        return {
            "method": intervals.method,
            "n": len(intervals.scores),
            "effective_n": round(intervals.effective, 1),
            "groups": None if intervals.taxonomy is None else intervals.taxonomy.to_json(),
            "coverage": [entry.to_json() for entry in intervals.measured],
        }


@dataclass(frozen=True, eq=False)
class Conditions:
    """Requirements on prediction intervals: groups, levels, weights, and the new segments."""

    grouping: Grouping | None = None
    new: tuple[FloatArray, FloatArray] | None = None
    levels: Sequence[float] = LEVELS
    column: Column = ()
    weights: FloatArray | None = None


def make_companions(
    training: Split,
    features: pd.DataFrame,
    out_of_fold: FloatArray,
    fold_rows: Sequence[Rows],
    scale: LabelScale,
    seed: int = 0,
    calibration: CalibrationRows | None = None,
    conditions: Conditions | None = None,
    auxiliary: Sequence[Segments] = (),
) -> Companions:
    """Creates companions from training rows with (n, k) features and (n,) out-of-fold predictions.

    With `calibration`, difficulty is fitted to the training rows, interval widths to the calibration rows.
    """
    assert training.scores is not None  # checked by training_split
    table = numbers(features)
    conditions = conditions or Conditions()
    rows = CalibrationRows(table, out_of_fold, training.scores, conditions.column, conditions.weights)
    held_out, shift, levels = calibration or rows, None, conditions.levels
    if conditions.new is not None:
        shift = DensityRatio.fit(held_out.features, held_out.predicted, *conditions.new, seed=seed)
    intervals = cross_conformal(
        rows,
        fold_rows,
        scale,
        levels=levels if calibration is None else (),
        seed=seed,
        grouping=conditions.grouping,
        shift=shift,
    )
    if calibration is not None:
        intervals = split_conformal(intervals, calibration, levels=levels, seed=seed)
    return Companions(
        intervals,
        Background.make(table, seed),
        Profile.make(training.segments, table, list(without_trees(features).columns), seed),
        Learned.make(
            pair
            for batch in (training.segments, *auxiliary)
            for pair in zip(batch.source, batch.target, strict=True)
        ),
        HeldOutPredictions.make(held_out.gold, held_out.predicted),
    )
