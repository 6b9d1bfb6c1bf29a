"""Weights of the rows that are learned from: by how many annotators judged each."""

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.config.experiment import Experiment
from qe.data.dataset import Split


def weights_of(split: Split, experiment: Experiment) -> FloatArray | None:
    """(n,) row weights: the number of annotators behind each label to `weight_power`, relative to the mean.

    None if all rows count the same. Raises InputError if the numbers of annotators are not known.
    """
    if experiment.weights == "none":
        return None
    if split.annotators is None:
        raise InputError("the dataset does not say how many annotators judged", where="weights")
    powers = split.annotators**experiment.weight_power
    weights: FloatArray = powers / powers.mean()
    return weights
