"""Rank correlations of edit categories with scores of perceived effort."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.edits.edit_labels import ALL, WORD_CLASSES
from qe.display.files import plain_fields
from qe.statistics.draws import below, stream, word
from qe.statistics.family import correct
from qe.statistics.intervals import percentile_interval
from qe.statistics.metrics.ranking import Spearman
from qe.statistics.resampling import bootstrap_rescored
from qe.statistics.result import CountArray, p_value, rounding
from qe.statistics.settings import check_samples


@dataclass(frozen=True)
class Correlation:
    """Spearman's rho with its 95 % interval and p-value over n segments, and the edit category it is of.

    lots  mean and standard deviation of rho over other choices of the segments
    """

    rho: float
    ci: tuple[float, float]
    p: float
    n: int
    word_class: str = ALL
    category: str = ""
    p_corrected: float = float("nan")
    lots: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        lots = self.lots and {"mean": self.lots[0], "sd": self.lots[1]}
        return plain_fields({
            "word_class": self.word_class, "category": self.category, "rho": self.rho, "low": self.ci[0],
            "high": self.ci[1], "p": self.p, "p_corrected": self.p_corrected, "n": self.n, "lots": lots,
        })  # fmt: skip


def spearman_association(
    x: FloatArray,
    y: FloatArray,
    control: FloatArray | None = None,
    *,
    samples: int = 1000,
    permutations: int = 10_000,
    seed: int = 0,
) -> Correlation:
    """Spearman's correlation of x and y (n,), or the partial one with the ranks of `control` (n,) constant.

    Raises InputError for columns that differ in length or are not finite.
    Source of the permutation with a control: Kennedy 1995, "Randomization tests in econometrics".
    """
    check_samples(samples)
    check_samples(permutations)
    columns = [np.asarray(c, np.float64) for c in (x, y, control) if c is not None]
    if len({c.shape for c in columns}) > 1 or not all(np.isfinite(c).all() for c in columns):
        raise InputError("the columns of a correlation must be finite and of equal length")
    n = len(columns[0])

    def rescore(counts: CountArray) -> FloatArray:
        spearman = Spearman().resample
        xy = spearman(columns[0], columns[1], counts)
        if len(columns) == 2:
            return xy
        xz, yz = (spearman(column, columns[2], counts) for column in columns[:2])
        with np.errstate(divide="ignore", invalid="ignore"):
            partial = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
        return np.asarray(np.where(np.isfinite(partial), partial, np.nan))

    rho = float(rescore(np.ones((1, n), np.int32))[0])
    if np.isnan(rho):
        return Correlation(rho, (np.nan, np.nan), np.nan, n)
    drawn = bootstrap_rescored(rescore, n, samples=samples, seed=seed)
    ranks = [stats.rankdata(column) for column in columns]
    ranks = [column - column.mean() for column in ranks]
    if len(ranks) == 3:
        held = ranks[2]
        ranks = [column - held * (column @ held) / (held @ held) for column in ranks[:2]]
    null = np.empty(permutations)
    _shuffle_products(*(column / np.sqrt(column @ column) for column in ranks), seed, null)
    p = p_value(null, rho, "two-sided", exact=False, tolerance=rounding(null, rho))
    return Correlation(rho, percentile_interval(drawn), p, n)


@numba.njit(cache=True, nogil=True)
def _shuffle_products(x: Any, y: Any, seed: int, result: Any) -> None:
    for s in range(len(result)):
        key = stream(seed, s)
        shuffled = y.copy()
        total = 0.0
        for i in range(len(y) - 1, -1, -1):
            j = below(word(key, i), i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
            total += x[i] * shuffled[i]
        result[s] = total


Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Draws:
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

    table    one row per segment, from `EditCounts.table`
    effort   (n,) scores
    rows     the segments used
    control  (n,) held constant, such as TER
    lots     other choices of segments, which show how much rho depends on the choice
    """
    draws = draws or Draws()
    correlated = []
    for done, name in enumerate(table.columns):
        values = table[name].to_numpy(np.float64)
        used = _defined(rows, values, effort, control)
        held = None if control is None else control[used]
        correlated.append(
            spearman_association(
                values[used], effort[used], held,
                samples=draws.samples, permutations=draws.permutations, seed=draws.seed,
            )
        )  # fmt: skip
        progress(stage, done + 1, len(table.columns))
    corrected = correct([correlation.p for correlation in correlated], draws.correction)
    results = []
    for name, correlation, p in zip(table.columns, correlated, corrected, strict=True):
        word_class, category = split_name(name)
        over_lots = _over_lots(table[name], effort, lots)
        named = replace(correlation, word_class=word_class, category=category)
        results.append(replace(named, p_corrected=float(p), lots=over_lots))
    return results


def split_name(column: str) -> tuple[str, str]:
    """(word class, category) of a column of the table.

    >>> split_name("noun moved_alone"), split_name("tokens")
    (('noun', 'moved_alone'), ('all', 'tokens'))
    """
    first, _, rest = column.partition(" ")
    return (first, rest) if first in WORD_CLASSES else (ALL, column)


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
