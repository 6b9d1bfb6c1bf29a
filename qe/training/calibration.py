"""Calibration: what the prediction intervals of an experiment need of its data."""

from features.basics.errors import InputError
from features.core.segments import Column, Segments
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset, Split
from qe.models.taxonomy import Grouping


def check_calibration(dataset: Dataset, training: Split, experiment: Experiment) -> None:
    """Raises InputError if the data lack the weights or groups that calibration needs."""
    section = experiment.intervals
    if section.column is not None:
        group_column(training.segments, section.column)
    if section.weighted_to is not None:
        dataset.split(section.weighted_to)


def group_column(segments: Segments, name: str) -> Column:
    """The values of a column. Raises InputError if the segments lack it."""
    columns = dict(segments.columns())
    if name not in columns:
        known = [column for column in columns if column not in ("source", "target", "id")]
        raise InputError(
            f"the segments have no column '{name}'",
            location="intervals.column",
            remedy=f"they have {', '.join(known) or 'none that groups them'}",
        )
    return columns[name]


def grouping_of(experiment: Experiment) -> Grouping | None:
    """The groups that are calibrated apart; None for one group of all."""
    section = experiment.intervals
    if section.by is None:
        return None
    return Grouping(section.by, section.bands, section.edges, section.column)
