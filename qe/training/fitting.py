"""Fitting: the chosen candidate on all training rows, and its predictions elsewhere."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from features.core.segments import Column
from features.core.tree_columns import numbers
from qe.data.dataset import Split
from qe.data.splits import Fold
from qe.evaluation.coverage import Coverage, coverage
from qe.models.companions import CalibrationRows, Companions, Conditions, make_companions
from qe.models.guard.guard import FEWEST, Guard
from qe.models.intervals import Intervals
from qe.models.model import Model
from qe.models.pipeline import Candidate, fit
from qe.models.pruning import pruned, selection
from qe.training.calibration import group_column, grouping_of
from qe.training.preparation import Prepared
from qe.training.reading import folds_of, scores_of
from qe.training.row_weights import weights_of


def guard_of(prepared: Prepared, progress: Progress = silent) -> tuple[Guard | None, FloatArray]:
    """The guard, and (n,) log-odds of each training row by a guard that has not seen it.

    None, and zeros, if the experiment wants no guard or has too few rows for one.
    """
    training, experiment = prepared.training, prepared.experiment
    if not experiment.guard or len(training) < FEWEST:
        return None, np.zeros(len(training))
    return Guard.fit(training.segments, experiment.seed, progress)


def guarded(
    prepared: Prepared,
    guard: Guard,
    unseen: FloatArray,
    out_of_fold: FloatArray,
    nested: FloatArray | None,
) -> tuple[FloatArray, FloatArray | None]:
    """Out-of-fold and nested predictions after the guard, applied fold by fold.

    Shapes are (repeats, n) and (n,).

    unseen  (n,) log-odds of the training rows by a guard that has not seen them
    """
    scale, experiment = prepared.dataset.scale, prepared.experiment

    def lowered(scores: FloatArray, folds: Sequence[Fold]) -> FloatArray:
        return scale.clip(guard.held_out_lowered(scores, unseen, folds, scale, prepared.scores))

    repeats = np.stack([lowered(*each) for each in zip(out_of_fold, prepared.repeats, strict=True)])
    if nested is None or experiment.split.outer is None:
        return repeats, None
    return repeats, lowered(nested, folds_of(prepared.training, experiment, experiment.split.outer))


def fit_model(prepared: Prepared, best: Candidate, guard: Guard | None = None) -> Model:
    """The model: the candidate fitted on all training rows, with only what scoring needs."""
    experiment, training, extraction = prepared.experiment, prepared.training, prepared.extraction
    rows = prepared.learned_rows()
    pipeline = fit(best.pipeline(experiment.seed), rows.table, rows.scores, rows.weights)
    segments, feature_set = training.segments, extraction.fitted_extractors(prepared.fitting)
    model = Model(
        experiment.name,
        best,
        pipeline,
        feature_set,
        prepared.dataset.scale,
        (segments.source_tokenizer, segments.target_tokenizer),
        prepared.bundle,
        made_columns=experiment.made_columns(),
        limits=_limits(prepared),
        guard=guard,
    )
    selected = selection(pipeline, feature_set.names)
    return pruned(model.described(selection=selected)) if selected else model


def _limits(prepared: Prepared) -> tuple[float, float]:
    scale, labels = prepared.dataset.scale, prepared.scores
    low = float(labels.min()) if scale.low is None else scale.low
    return low, float(labels.max()) if scale.high is None else scale.high


def companions_of(prepared: Prepared, model: Model, out_of_fold: FloatArray) -> Companions:
    """Intervals, background rows and data profile of a model.

    They come from the training rows and their (n,) out-of-fold predictions.
    """
    calibration = prepared.calibration
    return make_companions(
        prepared.training,
        prepared.training_table()[model.feature_set.columns],
        out_of_fold,
        [held_out for _, held_out in prepared.first_folds],
        prepared.dataset.scale,
        prepared.experiment.seed,
        None if calibration is None else _calibration(prepared, model, calibration),
        _conditions(prepared, model),
        [each.split.segments for each in prepared.auxiliaries],
    )


def _calibration(prepared: Prepared, model: Model, split: Split) -> CalibrationRows:
    features, predicted = _scored(prepared, model, split)
    column, weights = _groups_and_weights(prepared, split)
    return CalibrationRows(features, predicted, scores_of(split), column, weights)


def _conditions(prepared: Prepared, model: Model) -> Conditions:
    section = prepared.experiment.intervals
    new = None
    if section.weighted_to is not None:
        new = _scored(prepared, model, prepared.dataset.split(section.weighted_to))
    column, weights = _groups_and_weights(prepared, prepared.training)
    return Conditions(grouping_of(prepared.experiment), new, section.levels, column, weights)


def _groups_and_weights(prepared: Prepared, split: Split) -> tuple[Column, FloatArray | None]:
    section = prepared.experiment.intervals
    column = () if section.column is None else group_column(split.segments, section.column)
    return column, weights_of(split, prepared.experiment) if section.row_weights else None


def _scored(prepared: Prepared, model: Model, split: Split) -> tuple[FloatArray, FloatArray]:
    table = _table(prepared, model, split)
    return numbers(table), model.judge(split.segments, table)[0]


def _table(prepared: Prepared, model: Model, split: Split) -> pd.DataFrame:
    table = (
        prepared.training_table()
        if split is prepared.training
        else prepared.extraction.scored(prepared.fitting, split.segments)
    )
    return table[model.feature_set.columns]


def coverage_of_splits(prepared: Prepared, model: Model, intervals: Intervals) -> dict[str, list[Coverage]]:
    """Interval coverage on labelled splits that neither model nor intervals learned from."""
    section, scale = prepared.experiment.intervals, prepared.dataset.scale
    seen = {*prepared.experiment.split.train, section.calibration}
    measured = {}
    for name, split in prepared.dataset.splits.items():
        if name in seen or split.scores is None or not np.isfinite(split.scores).all():
            continue
        features, predicted = _scored(prepared, model, split)
        column, _ = _groups_and_weights(prepared, split)
        bounds = {
            x.level: intervals.reached(features, predicted, x.level, column) for x in intervals.measured
        }
        measured[name] = [
            coverage(split.scores, *ends, level, prepared.experiment.seed, predicted=predicted, scale=scale)
            for level, ends in bounds.items()
        ]
    return measured


def bounds_of(
    prepared: Prepared, model: Model, intervals: Intervals, split: Split, predicted: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """The interval ends (n,) around (n,) predictions of training rows or another split.

    Infinite where the level needs more rows than a group has.
    """
    table = _table(prepared, model, split)
    column, _ = _groups_and_weights(prepared, split)
    return intervals.reached(numbers(table), predicted, level, column)


def predict_splits(prepared: Prepared, model: Model) -> dict[str, FloatArray]:
    """Predictions for every split that was not learned from."""
    predictions = {}
    for name, split in prepared.dataset.splits.items():
        if name not in prepared.experiment.split.train:
            predictions[name] = model.judge(split.segments, _table(prepared, model, split))[0]
    return predictions
