"""Importance: how much worse predictions of held-out rows are when one column is shuffled."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from qe.models.pipeline import Candidate
from qe.training.fold_data import FoldData
from qe.training.objective import Objective

_FITS = 400  # (feature, fold) pairs
_ROWS = 2000  # of all held-out folds together, at random: a plot needs no more
_FEWEST = 100  # of these, where a learner predicts slowly
_SECONDS, _SHARE = 2.0, 0.05  # CPU seconds that shuffling may take, or this share of those of the run so far
_VALUES = 4_000_000  # in the tables that are predicted at once (32 MB)


def permutation_importance(
    objective: Objective, best: Candidate, progress: Progress = silent
) -> tuple[list[str], FloatArray, FloatArray]:
    """Permutation importance: the rise in held-out MAE when one column is shuffled.

    Returns names, means and spreads over folds.

    Measured on as many folds, and rows of each, as keep it cheap (one fold at least): fewer rows where the
    learner predicts slowly, so that the plot does not take longer than what it shows.
    """
    names = list(objective.folds[0].train.columns)
    folds = objective.folds[: max(1, min(len(objective.folds), _FITS // max(len(names), 1)))]
    with threadpool_limits(1):  # learners predict by one thread each
        most = _Most(len(folds), max(_SECONDS, _SHARE * time.process_time()))
        held_out = list(side_by_side(lambda fold: _HeldOut.of(fold, best, objective, most), folds))
        tasks = [(rows, block) for rows in held_out for block in rows.blocks()]
        blocks = list[FloatArray]()
        for errors in side_by_side(lambda task: task[0].errors(task[1]), tasks):
            blocks.append(errors)
            progress("importance of features", len(blocks), len(tasks))
        errors = np.concatenate(blocks)
    rises = errors.reshape(len(folds), len(names)) - [[rows.plain] for rows in held_out]
    spread = rises.std(axis=0, ddof=1) if len(folds) > 1 else np.zeros(len(names))
    return names, rises.mean(axis=0), spread


@dataclass(frozen=True)
class _Most:
    folds: int
    seconds: float

    @property
    def rows(self) -> int:
        return max(1, _ROWS // self.folds)

    def affordable(self, predict: Callable[[pd.DataFrame], object], table: pd.DataFrame) -> int:
        predict(table.iloc[:1])  # loads compiled code
        started = time.thread_time()
        predict(table)
        taken = (time.thread_time() - started) * table.shape[1] * self.folds
        fewest = max(1, _FEWEST // self.folds)
        return max(fewest, int(len(table) * min(1.0, self.seconds / max(taken, 1e-9))))


@dataclass(frozen=True)
class _HeldOut:
    table: pd.DataFrame
    orders: list[np.ndarray]
    error: Callable[[pd.DataFrame], FloatArray]
    plain: float

    @classmethod
    def of(cls, fold: FoldData, best: Candidate, objective: Objective, most: _Most) -> "_HeldOut":
        fitted = fold.fitted(best, objective.seed)
        generator = np.random.default_rng(objective.seed)
        _, table = fold.prepared(best)
        rows = _some(np.arange(len(table)), most.rows, generator)
        rows = _some(rows, most.affordable(fitted, table.iloc[rows]), generator)
        table, gold = table.iloc[rows], np.asarray(fold.gold)[rows]

        def error(tables: pd.DataFrame) -> FloatArray:
            predicted = objective.scale.clip(fitted(tables)).reshape(-1, len(rows))
            return np.asarray(np.abs(gold - predicted).mean(axis=1))

        orders = [generator.permutation(len(rows)) for _ in table.columns]
        return cls(table, orders, error, float(error(table)[0]))

    def blocks(self) -> list[range]:
        size = max(1, _VALUES // max(self.table.size, 1))
        columns = range(len(self.orders))
        return [columns[start : start + size] for start in range(0, len(columns), size)]

    def errors(self, block: range) -> FloatArray:
        n = len(self.table)
        moved = [column for column in block if (self.orders[column] != np.arange(n)).any()]
        errors = np.full(len(block), self.plain)
        if not moved:
            return errors
        tables = self.table.iloc[np.tile(np.arange(n), len(moved))].copy()
        for place, column in enumerate(moved):
            shuffled = self.table.iloc[:, column].to_numpy()[self.orders[column]]
            tables.iloc[place * n : (place + 1) * n, column] = shuffled
        errors[np.array(moved) - block.start] = self.error(tables)
        return errors


def _some(rows: np.ndarray, most: int, generator: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= most else np.sort(generator.choice(rows, most, replace=False))
