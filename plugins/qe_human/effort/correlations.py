"""Rank correlations of edit categories with scores of perceived effort."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from features.edits.edit_categories import ALL, WORD_CLASSES
from qe.statistics.family import correct
from qe.statistics.metrics.ranks import Spearman
from qe_human.effort.association import Association, spearman_association

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Correlation:
    """A category and the effort scores (higher is less effort).

    word_class   one of WORD_CLASSES, or `all`
    category     one of CATEGORIES, or `tokens`: the length of the post-edit
    association  rank correlation; over the segments in which the category is defined
    p_corrected  corrected over all categories of the same segments
    lots         mean and standard deviation of rho over other lots of comparison segments; None without lots
    """

    word_class: str
    category: str
    association: Association
    p_corrected: float
    lots: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        association = self.association
        values = {
            "rho": association.rho,
            "low": association.ci[0],
            "high": association.ci[1],
            "p": association.p,
        }
        values |= {"p_corrected": self.p_corrected}
        return {
            "word_class": self.word_class,
            "category": self.category,
            **{name: None if value != value else value for name, value in values.items()},
            "n": association.n,
            "lots": None if self.lots is None else {"mean": self.lots[0], "sd": self.lots[1]},
        }


@dataclass(frozen=True)
class Draws:
    """How intervals and p-values are drawn, and how p-values are corrected."""

    samples: int = 1000
    permutations: int = 10_000
    seed: int = 0
    correction: str = "holm"


def correlations(
    table: pd.DataFrame,
    effort: FloatArray,
    rows: Rows,
    control: FloatArray | None = None,
    lots: Sequence[Rows] = (),
    draws: Draws | None = None,
    progress: Progress = silent,
    stage: str = "correlations",
) -> list[Correlation]:
    """Correlate every edit category with the effort scores, over all words and by word class.

    table    as `EditCounts.table` gives it, one row per segment
    effort   (n,) scores
    rows     the segments that are looked at
    control  (n,) what is held constant, such as TER
    lots     other choices of segments, to see how much rho depends on the choice
    """
    draws = draws or Draws()
    correlated = []
    for done, name in enumerate(table.columns):
        correlated.append(_association(table[name].to_numpy(np.float64), effort, rows, control, draws))
        progress(stage, done + 1, len(table.columns))
    corrected = correct([association.p for association in correlated], draws.correction)
    return [
        Correlation(*split_name(name), association, float(p), _over_lots(table[name], effort, lots))
        for name, association, p in zip(table.columns, correlated, corrected, strict=True)
    ]


def split_name(column: str) -> tuple[str, str]:
    """(word class, category) of a column of the table.

    >>> split_name("noun moved_alone"), split_name("tokens")
    (('noun', 'moved_alone'), ('all', 'tokens'))
    """
    first, _, rest = column.partition(" ")
    return (first, rest) if first in WORD_CLASSES else (ALL, column)


def _association(
    values: FloatArray, effort: FloatArray, rows: Rows, control: FloatArray | None, draws: Draws
) -> Association:
    rows = _defined(rows, values, effort, control)
    return spearman_association(
        values[rows], effort[rows], None if control is None else control[rows],
        samples=draws.samples, permutations=draws.permutations, seed=draws.seed,
    )  # fmt: skip


def _defined(rows: Rows, *columns: FloatArray | None) -> Rows:
    there = np.logical_and.reduce([np.isfinite(c[rows]) for c in columns if c is not None])
    return rows[there]


def _over_lots(values: pd.Series, effort: FloatArray, lots: Sequence[Rows]) -> tuple[float, float] | None:
    if not lots:
        return None
    column, spearman, rhos = values.to_numpy(np.float64), Spearman(), []
    for lot in lots:
        rows = _defined(lot, column)
        rhos.append(spearman.score(column[rows], effort[rows]))
    known = np.array([rho for rho in rhos if rho == rho])
    return (float(known.mean()), float(known.std())) if len(known) else None
