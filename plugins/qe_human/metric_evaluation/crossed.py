"""A randomization test for new units of two kinds at once, e.g. segments and systems.

Exchanges of whole rows do not see what goes with columns, nor those of columns what goes with rows: a
difference that shows with each of them may still be chance where both have large effects. The variance of a
difference over crossed rows and columns is that of rows, plus that of columns, less that of single cells
(Cameron, Gelbach and Miller 2011, "Robust inference with multiway clustering", equation 2.12).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from features.basics.array_types import FloatArray
from qe.statistics.draws import coin_rows, sample_blocks
from qe.statistics.levels import Groups, group_index
from qe.statistics.randomization import Exchanged
from qe.statistics.result import TestResult, monte_carlo_error

_CLEAR = 0.1  # above this p-value nothing more is asked


def paired_columns(
    result: TestResult, exchanged: Exchanged, rows: Groups, columns: Groups, samples: int, seed: int
) -> TestResult:
    """The test result that exchanges of rows, of columns and of both together support. Rows and columns must
    each show the difference.

    exchanged      differences of scores after exchanges of single cells
    rows, columns  (n,) the unit of each kind that a cell belongs to
    """
    if not result.p <= _CLEAR:
        return result
    cells = len(rows)
    nulls = [rescored_null(exchanged, cells, groups, samples, seed) for groups in (rows, columns, None)]
    units = [group_index(groups, cells)[1] for groups in (rows, columns)]
    p = max(result.p, joint_p(result.difference, nulls, (*units, cells)))
    if p == result.p:
        return result
    return replace(result, p=p, exact=False, error=monte_carlo_error(p, samples, exact=False))


def joint_p(difference: float, nulls: Sequence[FloatArray], units: Sequence[int]) -> float:
    """Two-sided p-value of a difference, with the variance of both sources of chance.

    nulls  differences after exchanges of rows, of columns, of single cells
    units  how many of each there are

    A null distribution's variance is the sum of the squares of what units add to the difference; their mean,
    which is the difference, is taken off. Student's t with as many degrees of freedom as the fewer of rows
    and columns less 1.
    """
    by_row, by_column, by_cell = (
        max(0.0, float(np.mean(null**2)) - difference**2 / count) * count / (count - 1)
        for null, count in zip(nulls, units, strict=True)
    )
    variance = max(by_row + by_column - by_cell, by_row, by_column)
    if not variance > 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stats.t.sf(abs(difference) / np.sqrt(variance), min(units) - 1))


def rescored_null(
    exchanged: Exchanged, rows: int, groups: Groups | None, samples: int, seed: int
) -> FloatArray:
    """(samples,) differences of scores after random exchanges of single rows or groups."""
    index, units = (np.arange(rows), rows) if groups is None else group_index(groups, rows)
    ranges = sample_blocks(samples, 2 * rows, samples)
    return np.concatenate([exchanged(coin_rows(units, seed, *ends)[index]) for ends in ranges])
