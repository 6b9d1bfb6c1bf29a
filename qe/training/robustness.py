"""Robustness of a run: spoilt translations of rows that the model did not learn from.

The rows are another split's or a fold's.
"""

from dataclasses import replace

import numpy as np

from features.basics.progress import Progress, silent
from features.core.segments import Segments
from qe.models.guard.guard import Guard
from qe.models.model import Model
from qe.models.pipeline import fit
from qe.models.robustness import Robustness, of_one_text, robustness_of
from qe.scoring.flags import Flags
from qe.training.auxiliary import Fitting, together_with
from qe.training.preparation import Prepared

FOLD = "a fold of the training rows, by a model that has not seen it"


def robustness_of_run(
    prepared: Prepared, model: Model, progress: Progress = silent
) -> tuple[str, Robustness] | None:
    """What was spoilt, and the answers.

    None if the experiment does not ask for it, or the model needs what other texts do not have: features from
    files, annotations that the user brought.
    """
    experiment = prepared.experiment
    if not experiment.evaluation.robustness or of_one_text(model):
        return None
    if any(extractor.reads_files for extractor in model.feature_set.extractors):
        return None
    if (name := _unseen(prepared)) is not None:
        what, judged, segments = name, model, prepared.dataset.split(name).segments
    elif model.candidate.pairwise:  # a kernel's columns are the rows that it was fitted on
        return None
    else:
        what, (judged, segments) = FOLD, _fold_model(prepared, model)
    found = robustness_of(
        judged, segments, seed=experiment.seed, checked=Flags.of(model).text, progress=progress
    )
    return what, found


def _unseen(prepared: Prepared) -> str | None:
    seen = {*prepared.experiment.split.train, prepared.experiment.intervals.calibration}
    others = [name for name, split in prepared.dataset.splits.items() if name not in seen and len(split)]
    if prepared.test in others:
        return prepared.test
    return others[0] if others else None


def _fold_model(prepared: Prepared, model: Model) -> tuple[Model, Segments]:
    train, held_out = prepared.first_folds[0]
    seed, training = prepared.experiment.seed, prepared.training
    tables = prepared.fold(train, held_out)
    scored = training.segments.take(held_out)
    rows = together_with(
        [added.without(scored) for added in tables.added], tables.own, *prepared.learned(training, train)
    )
    pipeline = fit(model.candidate.pipeline(seed), rows.table, rows.scores, rows.weights)
    fitting = Fitting.of(training.take(train), prepared.auxiliaries, scored).split
    extractors = prepared.extraction.fitted_extractors(fitting)
    guard = model.guard
    if guard is not None:
        fresh, _ = Guard.fit(training.segments.take(np.asarray(train)), seed)
        guard = replace(fresh, worst=guard.worst, slope=guard.slope, sign=guard.sign)
    return replace(model, pipeline=pipeline, feature_set=extractors, guard=guard), scored
