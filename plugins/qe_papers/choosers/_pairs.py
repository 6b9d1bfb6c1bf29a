"""Pairs of outputs of the same segment. Each has differences of standardised features, and which output is
better.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from features.basics.array_types import FloatArray
from qe.models.pipeline import imputer, scaler
from qe_papers.selection.bleu_model import segment_bleu
from qe_papers.selection.chooser import Outputs


def standardiser(outputs: Outputs) -> Pipeline:
    """Impute medians and standardise; both are learned from the outputs of all systems."""
    steps = Pipeline([("impute", imputer()), ("scale", scaler())])
    return steps.fit(pd.concat(outputs.features, ignore_index=True))


def standardised(steps: Pipeline, outputs: Outputs) -> FloatArray:
    """(S, n, k) features."""
    return np.stack([np.asarray(steps.transform(table), np.float64) for table in outputs.features])


def pairs(outputs: Outputs) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.bool_]]]:
    """For each pair of systems: indices, segments that differ, whether the second is better. Segments differ
    if their BLEU differs.
    """
    scores = segment_bleu(outputs.statistics)
    for first, second in combinations(range(len(scores)), 2):
        rows = np.flatnonzero(scores[first] != scores[second])
        yield first, second, rows, scores[second, rows] > scores[first, rows]
