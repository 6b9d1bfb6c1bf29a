"""Weights of the rows that are learned from: numbers of annotators, or a column of the data."""

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.config.experiment import Experiment
from qe.data.dataset import Split


def weights_of(split: Split, experiment: Experiment) -> FloatArray | None:
    """(n,) row weights: what each row counts, to `weight_power`, relative to the mean.

    None if all rows count the same. Raises InputError if the weights are not known, or all are 0.
    """
    if experiment.weights == "none":
        return None
    counts = _counts(split, experiment)
    if counts is None:
        raise InputError(_unknown(experiment), location="weights")
    if not counts.any():
        raise InputError(f"all {len(counts)} rows weigh 0", location="weights")
    powers = counts**experiment.weight_power
    weights: FloatArray = powers / powers.mean()
    return weights


def known(split: Split, experiment: Experiment) -> bool:
    """Whether a split says what the experiment weighs its rows by."""
    return _counts(split, experiment) is not None


def _counts(split: Split, experiment: Experiment) -> FloatArray | None:
    return split.annotators if experiment.weights == "annotators" else split.row_weights


def _unknown(experiment: Experiment) -> str:
    if isinstance(experiment.weights, str):
        return "the dataset does not say how many annotators judged"
    return f"the training rows have no column '{experiment.weights.column}'"
