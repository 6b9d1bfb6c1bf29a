"""Evaluation from Python: gold labels and predictions in, a report out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from features.basics.errors import InputError
from qe.data.dataset import DIRECTION, LabelScale
from qe.data.directions import higher_is_better as direction_of
from qe.evaluation.evaluate import Report
from qe.evaluation.evaluate import evaluate as run


def evaluate(
    gold: ArrayLike,
    predictions: Mapping[str, ArrayLike],
    *,
    higher_is_better: bool | None = None,
    low: float | None = None,
    high: float | None = None,
    **options: Any,
) -> Report:
    """Scores every system, with intervals, and tests their differences.

    gold              (n,) labels; finite. A column of a table has a name
    predictions       name -> (n,) predictions
    higher_is_better  the direction of the labels; not needed where their name says it (`hter`, `da`, ...)
    low, high         ends of the label scale, where it has any
    options           of `qe.evaluation.evaluate.evaluate`: baselines, metrics, samples, seed, test,
                      correction, groups

    Raises qe.InputError for lengths that differ, labels that are not finite, unknown names and options, and a
    direction that nobody has said.

    >>> evaluate([1, 2, 3, 4], {"a": [1, 2, 3, 4]}, higher_is_better=True, samples=0).score("a", "spearman")
    1.0
    """
    labels = np.asarray(gold, np.float64)
    columns = {name: np.asarray(values, np.float64) for name, values in predictions.items()}
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InputError(f"the label of row {row} is {labels[row]}", remedy="leave out rows without labels")
    name = str(getattr(gold, "name", None) or "label")
    scale = LabelScale(name, low, high, direction_of(name, higher_is_better, DIRECTION))
    return run(labels, columns, scale, **options)
