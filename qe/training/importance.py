"""Importance: how much worse predictions of held-out rows are when one column is shuffled."""

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.core.array_types import FloatArray
from features.core.threads import side_by_side
from qe.models.pipeline import Candidate
from qe.training import search

_FITS = 400  # (feature, fold) pairs
_ROWS = 2000  # of each held-out fold, at random: a plot needs no more


def permutation_importance(
    objective: search.Objective, best: Candidate
) -> tuple[list[str], FloatArray, FloatArray]:
    """How much the MAE of held-out rows rises when one column is shuffled: names, mean and spread over folds.

    Measured on as many folds, and rows of each, as keep it cheap (one fold at least).
    """
    names = list(objective.folds[0].train.columns)
    folds = objective.folds[: max(1, min(len(objective.folds), _FITS // max(len(names), 1)))]
    with threadpool_limits(1):  # learners predict by one thread each
        rises = np.array(list(side_by_side(lambda fold: _rises(fold, best, objective, names), folds)))
    spread = rises.std(axis=0, ddof=1) if len(folds) > 1 else np.zeros(len(names))
    return names, rises.mean(axis=0), spread


def _rises(
    fold: search.FoldData, best: Candidate, objective: search.Objective, names: list[str]
) -> FloatArray:
    fitted = fold.fitted(best, objective.seed)
    generator = np.random.default_rng(objective.seed)
    _, held_out = fold.prepared(best)
    rows = np.arange(len(held_out))
    if len(rows) > _ROWS:
        rows = np.sort(generator.choice(rows, _ROWS, replace=False))
    held_out, gold = held_out.iloc[rows], np.asarray(fold.gold)[rows]

    def error(table: pd.DataFrame) -> float:
        return float(np.abs(gold - objective.scale.clip(fitted(table))).mean())

    plain = error(held_out)
    rises = np.empty(len(names))
    for i, name in enumerate(names):
        shuffled = held_out.copy()
        shuffled[name] = generator.permutation(held_out[name].to_numpy())
        rises[i] = error(shuffled) - plain
    return rises
