"""Training rows: which labelled rows are learned from, calibrate intervals, or are a corpus."""

from dataclasses import dataclass

import numpy as np

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset, Split
from qe.resources.cache import OWN_CORPUS, corpus_absent, rows_of_own_corpus
from qe.training.calibration import check_calibration
from qe.training.plan import Plan
from qe.training.reading import folds_of, training_split

SET_ASIDE = "{} training segments were set aside to calibrate prediction intervals, and not learned from"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """labelled: all rows with labels; the others are some of them.

    training     rows that are learned from
    corpus       segments that resources are built from if there is no parallel corpus
    calibration  rows for split-conformal intervals; None: there are none
    notes        what the report says of this
    """

    labelled: Split
    training: Split
    corpus: Segments
    calibration: Split | None = None
    notes: tuple[str, ...] = ()


def rows_of(plan: Plan, dataset: Dataset, calibrating: bool) -> TrainingRows:
    """The rows of the splits that are learned from, divided as the experiment says.

    Raises InputError if labels are missing, or the data lack what the intervals need.
    """
    experiment = plan.experiment
    labelled = training = training_split(dataset, experiment)
    corpus, notes = training.segments, list[str]()
    if plan.parts and corpus_absent(experiment.resources):
        learned, given = rows_of_own_corpus(len(training))
        training, corpus = training.take(learned), training.segments.take(given)
        notes.append(OWN_CORPUS.format(len(given)))
    if not calibrating:
        return TrainingRows(labelled, training, corpus, None, tuple(notes))
    check_calibration(dataset, training, experiment)
    training, calibration = _set_aside(dataset, training, experiment)
    if calibration is not None and experiment.intervals.calibration is None:
        notes.append(SET_ASIDE.format(len(calibration)))
    return TrainingRows(labelled, training, corpus, calibration, tuple(notes))


def _set_aside(dataset: Dataset, training: Split, experiment: Experiment) -> tuple[Split, Split | None]:
    section = experiment.intervals
    if section.method != "split":
        return training, None
    if section.calibration is None:
        rows, held_out = folds_of(training, experiment, max(2, round(1 / section.share)))[0]
        return training.take(rows), training.take(held_out)
    split = dataset.split(section.calibration)
    if split.scores is None or not np.isfinite(split.scores).all():
        raise InputError(f"the split '{section.calibration}' lacks labels", location="intervals.calibration")
    return training, split
