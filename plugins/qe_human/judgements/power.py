"""Power: how many pairs of systems a number of judgements tells apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from features.basics.array_types import FloatArray
from qe_human.judgements.comparisons import Comparisons, tables
from qe_human.judgements.sign_tests import sign_tests

LEVELS = (0.01, 0.05, 0.10)
FRACTIONS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))


@dataclass(frozen=True, eq=False)
class Power:
    """Shares of significant pairs in parts of the tasks (findings of WMT 2012, Figure 2).

    levels     (l,) levels of the sign test
    judgements (f,) mean number of judgements per pair of systems, ties included
    shares     (l, f, repeats) share of pairs significant at the level, uncorrected, in each drawn part
    """

    levels: tuple[float, ...]
    judgements: FloatArray
    shares: FloatArray


def power(
    judged: Comparisons,
    systems: Sequence[int],
    *,
    fractions: Sequence[float] = FRACTIONS,
    levels: Sequence[float] = LEVELS,
    repeats: int = 20,
    seed: int = 0,
) -> Power:
    """Test all pairs of systems on parts of the tasks. Parts are drawn without replacement, `repeats` times.

    systems    indices of the systems, two at least, that are compared
    fractions  of the tasks, rising, the last one 1
    """
    k = len(judged.systems)
    own = np.ix_(range(len(fractions)), systems, systems)
    above = np.triu_indices(len(systems), 1)
    limits = np.ceil(np.asarray(fractions) * judged.tasks).astype(np.int64)
    cells = judged.cells.astype(np.int64)
    counted, shares = [], []
    generator = np.random.default_rng(seed)
    for _ in range(repeats):
        places = generator.permutation(judged.tasks)[judged.task]
        part = np.searchsorted(limits, places, side="right")
        flat = np.bincount(part * (2 * k * k) + cells, minlength=len(limits) * 2 * k * k)
        wins, ties = tables(flat.reshape(len(limits), -1).cumsum(axis=0), k)
        wins, ties = wins[own], ties[own]
        counted.append((wins.sum(axis=(1, 2)) + ties.sum(axis=(1, 2)) / 2) / len(above[0]))
        p = sign_tests(wins)[:, above[0], above[1]]
        shares.append([(p <= level).mean(axis=1) for level in levels])
    return Power(tuple(levels), np.mean(counted, axis=0), np.moveaxis(np.array(shares), 0, -1))
