"""Fitting: the chosen candidate on all training rows, its guard and intervals, and its predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from features.core.segments import Segments, Texts
from features.core.tree_columns import numbers
from qe.data.dataset import Split
from qe.data.folds import Fold
from qe.evaluation.coverage import Coverage, coverage
from qe.models.companions import Companions, Conditions, make_companions
from qe.models.guard.guard import FEWEST, Guard
from qe.models.intervals import CalibrationRows, Intervals
from qe.models.model import Model
from qe.models.pipeline import Candidate, fit
from qe.models.pruning import pruned, selection
from qe.models.robustness import Robustness, judge_of, of_one_text, robustness_of
from qe.models.taxonomy import Grouping
from qe.scoring.checks import Flags
from qe.training.auxiliary import Fitting
from qe.training.preparation import Prepared
from qe.training.reading import folds_of, group_column, scores_of, weights_of

FOLD = "a fold of the training rows, by a model that has not seen it"
Scored = Mapping[str, tuple[FloatArray, FloatArray]]  # split -> (n, k) features, (n,) predictions


def guard_predictions(
    prepared: Prepared, repeats: FloatArray, nested: FloatArray | None, progress: Progress = silent
) -> tuple[Guard | None, FloatArray, FloatArray | None]:
    """The guard (None without one), and (repeats, n) out-of-fold and (n,) nested predictions after it."""
    training, experiment, scale = prepared.training, prepared.experiment, prepared.dataset.scale
    if not experiment.guard or len(training) < FEWEST:
        return None, repeats, nested
    # (n,) log-odds of each training row by a guard that has not seen it
    guard, log_odds = Guard.fit(training.segments, experiment.seed, progress)

    def lowered(scores: FloatArray, folds: Sequence[Fold]) -> FloatArray:
        return scale.clip(guard.held_out_lowered(scores, log_odds, folds, scale, prepared.scores))

    guarded = np.stack([lowered(*each) for each in zip(repeats, prepared.repeats, strict=True)])
    if nested is not None and experiment.split.outer is not None:
        nested = lowered(nested, folds_of(training, experiment, experiment.split.outer))
    return guard.for_scores(repeats[0], scale, prepared.scores), guarded, nested


def fit_model(prepared: Prepared, best: Candidate, guard: Guard | None = None) -> Model:
    experiment, segments, labels = prepared.experiment, prepared.training.segments, prepared.scores
    rows, scale = prepared.learned_rows(), prepared.dataset.scale
    pipeline = fit(best.pipeline(experiment.seed), rows.table, rows.scores, rows.weights)
    feature_set = prepared.extraction.fitted_extractors(prepared.fitting.split)
    model = Model(
        experiment.name,
        best,
        pipeline,
        feature_set,
        scale,
        (segments.source_tokenizer, segments.target_tokenizer),
        prepared.bundle,
        made_columns=experiment.made_columns(),
        limits=scale.limits(labels),
        guard=guard,
        training_columns=tuple(name for name, _ in segments.columns()),
    )
    selected = selection(pipeline, feature_set.names)
    return pruned(model.described(selection=selected)) if selected else model


def companions_of(prepared: Prepared, model: Model, out_of_fold: FloatArray, scored: Scored) -> Companions:
    section, calibration = prepared.experiment.intervals, None
    if prepared.calibration is not None:
        features, predicted = score(prepared, model, prepared.calibration)
        column, weights = _groups_and_weights(prepared, prepared.calibration)
        calibration = CalibrationRows(features, predicted, scores_of(prepared.calibration), column, weights)
    new = None if section.weighted_to is None else scored[section.weighted_to]
    grouping = None
    if section.group_by is not None:
        grouping = Grouping(section.group_by, section.bands, section.edges, section.column)
    column, weights = _groups_and_weights(prepared, prepared.training)
    return make_companions(
        prepared.training,
        prepared.training_table()[model.feature_set.columns],
        out_of_fold,
        [rows for _, rows in prepared.first_folds],
        prepared.dataset.scale,
        prepared.experiment.seed,
        calibration,
        Conditions(grouping, new, section.levels, column, weights),
        [each.split.segments for each in prepared.auxiliaries],
    )


def _groups_and_weights(prepared: Prepared, split: Split) -> tuple[Texts, FloatArray | None]:
    section = prepared.experiment.intervals
    column = () if section.column is None else group_column(split.segments, section.column)
    return column, weights_of(split, prepared.experiment) if section.row_weights else None


def score(prepared: Prepared, model: Model, split: Split) -> tuple[FloatArray, FloatArray]:
    """The (n, k) features and (n,) predictions of a split."""
    table = _table(prepared, model, split)
    return numbers(table), model.judge(split.segments, table)[0]


def _table(prepared: Prepared, model: Model, split: Split) -> pd.DataFrame:
    if split is prepared.training:
        return prepared.training_table()[model.feature_set.columns]
    return prepared.extraction.scored(prepared.fitting.split, split.segments)[model.feature_set.columns]


def coverage_of_splits(prepared: Prepared, scored: Scored, intervals: Intervals) -> dict[str, list[Coverage]]:
    """Interval coverage on labelled splits that neither model nor intervals learned from."""
    section, scale = prepared.experiment.intervals, prepared.dataset.scale
    measured = {}
    for name, split in prepared.other_splits.items():
        if name == section.calibration or split.scores is None or not np.isfinite(split.scores).all():
            continue
        features, predicted = scored[name]
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
    """Ends (n,) of the intervals around (n,) predictions; infinite if the level needs more rows."""
    column, _ = _groups_and_weights(prepared, split)
    return intervals.reached(numbers(_table(prepared, model, split)), predicted, level, column)


def robustness_of_run(
    prepared: Prepared, model: Model, progress: Progress = silent
) -> tuple[str, Robustness] | None:
    """Scores of perturbed rows of another split, or of a fold, and its name; None if it is not possible."""
    experiment = prepared.experiment
    if not experiment.evaluation.robustness or of_one_text(model):
        return None
    if any(extractor.reads_files for extractor in model.feature_set.extractors):
        return None
    unseen = [
        name
        for name, split in prepared.other_splits.items()
        if name != experiment.intervals.calibration and len(split)
    ]
    if unseen:
        name = prepared.test if prepared.test in unseen else unseen[0]
        segments = prepared.dataset.split(name).segments
    # The columns of a kernel are the rows it was fitted on; resources of `texts` hold those of all folds.
    elif model.candidate.pairwise or prepared.extraction.part_features is not None:
        return None
    else:
        name, (model, segments) = FOLD, _fold_model(prepared, model)
    flags = Flags.from_model(model).text
    found = robustness_of(
        judge_of(model), segments, model.scale, seed=experiment.seed, checked=flags, progress=progress
    )
    return name, found


def _fold_model(prepared: Prepared, model: Model) -> tuple[Model, Segments]:
    train_rows, test_rows = prepared.first_folds[0]
    seed, training = prepared.experiment.seed, prepared.training
    fold = prepared.fold_data(training, train_rows, test_rows, prepared.fold(train_rows, test_rows))
    pipeline = fit(model.candidate.pipeline(seed), fold.train, fold.scores, fold.weights)
    scored = training.segments.take(test_rows)
    fitting = Fitting.for_fold(training.take(train_rows), prepared.auxiliaries, scored).split
    extractors = prepared.extraction.fitted_extractors(fitting)
    guard = model.guard
    if guard is not None:
        fresh, _ = Guard.fit(training.segments.take(np.asarray(train_rows)), seed)
        guard = replace(fresh, worst=guard.worst, slope=guard.slope, sign=guard.sign)
    return replace(model, pipeline=pipeline, feature_set=extractors, guard=guard), scored
