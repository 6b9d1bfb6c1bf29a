"""Corrections of p-values for many comparisons, and the error that uncorrected ones carry."""

from collections.abc import Sequence

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name

CORRECTIONS = ("none", "bonferroni", "holm", "bh")
_TESTS = ("tukey", "scheffe")  # of all systems at once, which need no correction


def check_correction(method: str) -> None:
    """Raises InputError for an unknown method, and for the name of a test that corrects itself."""
    if method in _TESTS:
        raise InputError(
            f"'{method}' is a test, not a correction",
            remedy=f"use --test {method} of `qe compare` or `qe evaluate`",
        )
    known_name("correction", method, CORRECTIONS)


def correct(p_values: Sequence[float] | FloatArray, method: str = "holm") -> FloatArray:
    """Corrected p-values, in the order given; NaN stays NaN and counts as no comparison.

    none, bonferroni, holm (step-down; family-wise error; default), bh (Benjamini-Hochberg; false discovery).

    >>> correct([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]

    Raises InputError for an unknown method and for values outside 0 .. 1.
    """
    check_correction(method)
    p = np.asarray(p_values, np.float64)
    defined = ~np.isnan(p)
    if ((p[defined] < 0) | (p[defined] > 1)).any():
        raise InputError("p-values must lie in 0 .. 1")
    corrected = p.copy()
    corrected[defined] = _CORRECT[method](p[defined])
    return corrected


def experimentwise_error(level: float, comparisons: int) -> float:
    """Probability of at least one spurious finding: 1 - (1 - level)^k.

    Source: Riezler and Maxwell 2005, section 4.4.

    >>> round(experimentwise_error(0.05, 105), 4)
    0.9954
    """
    return float(1.0 - (1.0 - level) ** comparisons)


def _none(p: FloatArray) -> FloatArray:
    return p


def _bonferroni(p: FloatArray) -> FloatArray:
    return np.minimum(p * len(p), 1.0)


def _holm(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _unsorted(np.minimum(stepped, 1.0), order)


def _benjamini_hochberg(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    return _unsorted(np.minimum(stepped, 1.0), order)


def _unsorted(values: FloatArray, order: np.ndarray[tuple[int], np.dtype[np.int64]]) -> FloatArray:
    result = np.empty_like(values)
    result[order] = values
    return result


_CORRECT = {"none": _none, "bonferroni": _bonferroni, "holm": _holm, "bh": _benjamini_hochberg}
