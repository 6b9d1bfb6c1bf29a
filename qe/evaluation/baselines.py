"""Baselines in every report, fitted in the same folds: the mean, and a length-only model.

Their names are in brackets, which no name of an experiment or of a table's column has.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import PolynomialFeatures

from features.basics.array_types import FloatArray
from features.core.segments import Segments
from qe.data.dataset import LabelScale
from qe.data.folds import Fold

MEAN, LENGTH = "(mean)", "(length)"
NAMES = (MEAN, LENGTH)


def cross_validated(
    segments: Segments, scores: FloatArray, folds: Sequence[Fold], scale: LabelScale
) -> dict[str, FloatArray]:
    lengths = length_features(segments)
    predictions = {name: np.full(len(scores), np.nan) for name in NAMES}
    for train, held_out in folds:
        for name, values in predict(lengths[train], scores[train], lengths[held_out], scale).items():
            predictions[name][held_out] = values
    return predictions


def predict(
    lengths: FloatArray, scores: FloatArray, new_lengths: FloatArray, scale: LabelScale
) -> dict[str, FloatArray]:
    """Predictions of `(mean)`, the mean label, and `(length)`, regression on lengths, squares and product."""
    polynomial = PolynomialFeatures(2, include_bias=False)
    model = LinearRegression().fit(polynomial.fit_transform(lengths), scores)
    return {
        MEAN: np.full(len(new_lengths), scores.mean()),
        LENGTH: np.clip(model.predict(polynomial.transform(new_lengths)), *scale.limits(scores)),
    }


def length_features(segments: Segments) -> FloatArray:
    """(n, 2) tokens of source and target."""
    lengths = segments.source_tokens.lengths, segments.target_tokens.lengths
    return np.column_stack(lengths).astype(np.float64)
