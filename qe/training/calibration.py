"""Calibration: what an experiment says of its prediction intervals, checked before any work."""

from features.basics.errors import InputError
from features.core.segments import Column, Segments
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset, Split
from qe.models.taxonomy import TAXONOMIES, Grouping


def check_calibration(dataset: Dataset, training: Split, experiment: Experiment) -> None:
    """Raises InputError if the data lack what weighs or groups the rows that calibrate intervals."""
    section = experiment.intervals
    if section.column is not None:
        group_column(training.segments, section.column)
    if section.weighted_to is not None:
        dataset.split(section.weighted_to)
        if section.weighted_to in experiment.split.train:
            raise InputError(
                f"the split '{section.weighted_to}' is learned from: calibration rows are like it",
                where="intervals.weighted_to",
            )
    if section.row_weights and experiment.weights == "none":
        raise InputError("there are no row weights", where="intervals.row_weights", remedy="set `weights`")


def group_column(segments: Segments, name: str) -> Column:
    """The values of a column. Raises InputError if the segments lack it."""
    columns = dict(segments.columns())
    if name not in columns:
        known = [column for column in columns if column not in ("source", "target", "id")]
        raise InputError(
            f"the segments have no column '{name}'",
            where="intervals.column",
            remedy=f"they have {', '.join(known) or 'none that groups them'}",
        )
    return columns[name]


def check_groups(experiment: Experiment) -> None:
    """Raises InputError for groups of intervals that are not known, or settings that are not theirs."""
    section = experiment.intervals
    if section.by is None:
        return
    options = TAXONOMIES.get(section.by).options
    for name in section.model_fields_set & {"bands", "edges", "column"}:
        if name not in options:
            raise InputError(
                f"`{name}` does not go with `by: {section.by}`",
                where="intervals",
                remedy=f"it takes {', '.join(sorted(options))}",
            )
    if "column" in options and section.column is None:
        raise InputError(f"`by: {section.by}` needs `column`", where="intervals", remedy="such as doc_id")


def grouping_of(experiment: Experiment) -> Grouping | None:
    """The groups that are calibrated apart; None for one group of all."""
    section = experiment.intervals
    if section.by is None:
        return None
    return Grouping(section.by, section.bands, section.edges, section.column)
