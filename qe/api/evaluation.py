"""Evaluation from Python: gold labels and predictions in, a report out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from features.basics.errors import InputError
from qe.data.dataset import LabelScale
from qe.evaluation.evaluate import Report
from qe.evaluation.evaluate import evaluate as run


def evaluate(
    gold: ArrayLike,
    predictions: Mapping[str, ArrayLike],
    *,
    higher_is_better: bool = True,
    low: float | None = None,
    high: float | None = None,
    **options: Any,
) -> Report:
    """Scores every system, with intervals, and tests their differences.

    gold              (n,) labels; finite
    predictions       name -> (n,) predictions
    higher_is_better  the direction of the labels: False for HTER
    low, high         ends of the label scale, where it has any
    options           of `qe.evaluation.evaluate.evaluate`: baselines, metrics, samples, seed, test,
                      correction, groups

    Raises qe.InputError for lengths that differ, labels that are not finite, unknown names and options.

    >>> evaluate([1, 2, 3, 4], {"a": [1, 2, 3, 4]}, samples=0).score("a", "spearman")
    1.0
    """
    labels = np.asarray(gold, np.float64)
    columns = {name: np.asarray(values, np.float64) for name, values in predictions.items()}
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InputError(f"the label of row {row} is {labels[row]}", remedy="leave out rows without labels")
    return run(labels, columns, LabelScale("label", low, high, higher_is_better), **options)
