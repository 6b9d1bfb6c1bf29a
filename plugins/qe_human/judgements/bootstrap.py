"""Bootstrap over tasks: the rankings that other samples of tasks would have given."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, IntArray
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from qe.statistics.draws import bootstrap_counts
from qe.statistics.result import check_samples
from qe_human.judgements.comparisons import Comparisons, tables
from qe_human.ranking_method import RankingMethod

Draw = Literal["tasks", "segments", "judges"]
DRAWS: tuple[str, ...] = get_args(Draw)
_BLOCK_BYTES = 1 << 25  # of counts that one thread holds


def resampled_tables(
    judged: Comparisons,
    samples: int = 1000,
    seed: int = 0,
    progress: Progress = silent,
    draw: Draw = "tasks",
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Blocks of (b, k, k) wins and ties of resampled tasks, `samples` in all. Each sample draws as many
    tasks as there are, with replacement.

    draw  tasks, or as many segments or judges as there are, each with all its tasks

    The same seed draws the same tasks, with any number of threads.
    Raises InputError for fewer than one sample.
    """
    check_samples(samples)
    k = len(judged.systems)
    cells, starts = judged.cells, np.searchsorted(judged.task, np.arange(judged.tasks + 1))
    block = max(1, min(64, _BLOCK_BYTES // (4 * judged.tasks + 16 * k * k)))
    firsts = range(0, samples, block)
    units, of_task = _units(judged, draw)

    def tables_of(first: int) -> NDArray[np.int64]:
        last = min(first + block, samples)
        flat = np.zeros((last - first, 2 * k * k), np.int64)
        drawn = np.ascontiguousarray(bootstrap_counts(units, seed, first, last)[:, of_task])
        _add_up(drawn, starts, cells, flat)
        return flat

    for first, flat in zip(firsts, side_by_side(tables_of, firsts), strict=True):
        progress("bootstrap", first, samples)
        wins, ties = tables(flat, k)
        yield wins.astype(np.float64), ties.astype(np.float64)


def resampled_ranks(
    judged: Comparisons,
    methods: Mapping[str, RankingMethod],
    systems: Mapping[str, Sequence[int]],
    *,
    samples: int = 1000,
    seed: int = 0,
    draw: Draw = "tasks",
    progress: Progress = silent,
) -> dict[str, IntArray]:
    """Method -> (samples, k) ranks of its systems in each sample, 1 for the best.

    systems  method -> indices of the k systems that it ranks
    """
    ranks: dict[str, list[IntArray]] = {name: [] for name in methods}
    for wins, ties in resampled_tables(judged, samples, seed, progress, draw):
        for name, method in methods.items():
            own = np.ix_(range(len(wins)), systems[name], systems[name])
            ranks[name].append(method.ranks(wins[own], ties[own]))
    return {name: np.concatenate(blocks) for name, blocks in ranks.items()}


def _units(judged: Comparisons, draw: Draw) -> tuple[int, IntArray]:
    if draw == "tasks":
        return judged.tasks, np.arange(judged.tasks)
    codes, unit = np.unique(judged.segment if draw == "segments" else judged.judge, return_inverse=True)
    return len(codes), unit


@numba.njit(cache=True, nogil=True)
def _add_up(counts: Any, starts: Any, cells: Any, flat: Any) -> None:
    for s in range(len(counts)):
        for task in range(counts.shape[1]):
            drawn = counts[s, task]
            if drawn:
                for i in range(starts[task], starts[task + 1]):
                    flat[s, cells[i]] += drawn
