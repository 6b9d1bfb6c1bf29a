"""The space in which segments are compared: their features, made comparable."""

from typing import Final

import numpy as np

from features.basics.array_types import FloatArray

_FARTHEST: Final = 4.0  # standard deviations: outliers are not what annotators should see first
_COMPONENTS: Final = 30


def standardised(labelled: FloatArray, pool: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both tables scaled by mean and deviation of all rows, and cut at four deviations.

    What is undefined is the median; columns that say the same of all rows are left out.
    """
    table = np.vstack([labelled, pool])
    table = table[:, np.isfinite(table).any(axis=0)]
    table = np.where(np.isfinite(table), table, np.nanmedian(table, axis=0))
    deviation = table.std(axis=0)
    varies = deviation > 1e-12 * np.maximum(1.0, np.abs(table).max(axis=0, initial=0.0))
    scaled = (table[:, varies] - table[:, varies].mean(axis=0)) / deviation[varies]
    scaled = np.clip(scaled, -_FARTHEST, _FARTHEST)
    return scaled[: len(labelled)], scaled[len(labelled) :]


def components(labelled: FloatArray, pool: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both tables as their first principal components, each of variance 1."""
    table = np.vstack([labelled, pool])
    centred = table - table.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(table))
    kept = np.argsort(-values)[:_COMPONENTS]
    kept = kept[values[kept] > 1e-9 * max(1e-300, float(values.max(initial=0.0)))]
    points = centred @ vectors[:, kept] / np.sqrt(values[kept])
    return points[: len(labelled)], points[len(labelled) :]
