"""Kendall's tau of segment scores, as the metrics task of WMT 2012 defines it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from qe_human.correlation import Correlation, Level, Problem
from qe_human.correlations._pairs import pairs_within_segments
from qe_human.human import Human


@dataclass(frozen=True)
class KendallWmt12(Correlation):
    """(concordant - discordant) / all pairs that people found different.

    Pairs are translations of one segment: from rankings, every judgement is one, as often as it was made;
    from scores, every two systems. A pair that the metric scores equal counts as discordant. Source:
    Callison-Burch et al. 2012, section 5.2, as Machacek and Bojar 2014, section 4, spell it out.
    """

    title: ClassVar[str] = "Kendall (WMT12)"
    level: ClassVar[Level] = "segment"

    def problem(self, human: Human, defined: BoolArray, whole_systems: bool = False) -> Problem:
        return _KendallProblem(human, defined)


class _KendallProblem(Problem):
    def __init__(self, human: Human, defined: BoolArray) -> None:
        super().__init__(human)
        self.pairs = pairs_within_segments(human, defined, ties=False)
        self.cells, self.groups = self.pairs.cells, len(self.pairs.groups)

    def weighted(self, values: FloatArray, segments: FloatArray, systems: FloatArray) -> float:
        pairs = self.pairs
        cell, totals = systems[pairs.cells[:, 1]], segments[pairs.groups]
        return float(_tau(values, pairs.first_item, pairs.right, pairs.sign, pairs.starts, cell, totals))

    def exchanged(self, first: FloatArray, second: FloatArray, heads: BoolArray) -> FloatArray:
        pairs, sides, values = self.pairs, (first, second), np.zeros(heads.shape[1])
        better, worse = pairs.first_item, pairs.right
        faces = [np.sign((a[better] - b[worse]) * pairs.sign) > 0 for a in sides for b in sides]
        _differences(np.stack(faces, axis=1), better, worse, np.ascontiguousarray(heads), values)
        return values / len(pairs.sign)

    def details(self, values: FloatArray) -> dict[str, float]:
        return {"pairs": float(len(self.pairs.sign))}


@numba.njit(cache=True, nogil=True)
def _tau(values: Any, first: Any, right: Any, sign: Any, starts: Any, cell: Any, totals: Any) -> Any:
    net, total = 0.0, 0.0
    for g in range(len(totals)):
        if totals[g] > 0:
            for p in range(starts[g], starts[g + 1]):
                a, b = first[p], right[p]
                weight = totals[g] * cell[a] * cell[b]
                net += weight if (values[a] - values[b]) * sign[p] > 0 else -weight
                total += weight
    return net / total if total > 0 else np.nan


@numba.njit(cache=True, nogil=True)
def _differences(concordant: Any, first: Any, right: Any, heads: Any, result: Any) -> None:
    for p in range(len(first)):
        faces, a, b = concordant[p], heads[first[p]], heads[right[p]]
        for s in range(heads.shape[1]):
            shown = 2 * int(a[s]) + int(b[s])
            result[s] += 2.0 * (int(faces[shown]) - int(faces[3 - shown]))
