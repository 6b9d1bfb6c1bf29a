"""Work on all cores that a process may use, by threads. For kernels that release the interpreter."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from features.basics.errors import InputError
from features.basics.limits import cpu_quota, memory_left

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Result = TypeVar("Result")
THREADS = "QE_THREADS"
_MAX_THREADS = 1024

_QUEUED_PER_THREAD = 4  # items a thread that are worked on, or done and waiting


def cores() -> int:
    """Number of parallel threads: QE_THREADS, else the processors this process may use. Raises InputError if
    QE_THREADS is no whole number from 1.
    """
    asked = os.environ.get(THREADS)
    if asked is None:
        return usable()
    if not (asked.isascii() and asked.isdigit() and 0 < int(asked) <= _MAX_THREADS):
        raise InputError(f"{THREADS} must be a whole number from 1 to {_MAX_THREADS}, but is '{asked}'")
    return int(asked)


def usable() -> int:
    """Processors that this process may use, by its affinity and its control groups' quota."""
    affine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return affine if quota is None else max(1, min(affine, math.ceil(quota)))


def processes(memory: int) -> int:
    """Number of parallel processes that take `memory` bytes each: one a core, if all fit. Raises InputError
    as `cores` does.
    """
    left = memory_left()
    return cores() if left is None else max(1, min(cores(), left // max(memory, 1)))


def side_by_side(function: Callable[..., Result], *columns: Sequence[Any]) -> Iterator[Result]:
    """Results of `function` over items, in their order. Threads keep only a few items ahead of the consumer.

    columns  the arguments, as `map` takes them, equally many of each

    >>> list(side_by_side(pow, [2, 3, 4], [3, 2, 1]))
    [8, 9, 4]
    """
    from concurrent.futures import Future, ThreadPoolExecutor  # half of what `cores` alone would load

    waiting: deque[Future[Result]] = deque()
    threads = cores()  # asked once: the system tells it in files
    with ThreadPoolExecutor(threads) as pool:
        for item in zip(*columns, strict=True):
            if len(waiting) == _QUEUED_PER_THREAD * threads:
                yield waiting.popleft().result()
            waiting.append(pool.submit(function, *item))
        while waiting:
            yield waiting.popleft().result()


def apply_to_each(function: Callable[..., object], *columns: Sequence[Any]) -> None:
    """`side_by_side` for what the function does, not what it returns."""
    deque(side_by_side(function, *columns), maxlen=0)


def even_ranges(work: "ArrayLike", smallest: int = 1, per_core: int = 4) -> list[tuple[int, int]]:
    """Ranges of neighbouring items with about equal work, several for each core. Few ranges hold less work
    than `smallest`.

    work  (n,) what each item takes, in any unit

    >>> even_ranges([5, 1, 1, 1, 5, 5], smallest=6)
    [(0, 2), (2, 5), (5, 6)]
    >>> even_ranges([])
    []
    """
    import numpy as np  # here: the command line counts cores before it knows whether anything is computed

    done = np.cumsum(np.concatenate(([0], np.asarray(work, np.float64))))
    pieces = max(1, min(per_core * cores(), int(done[-1] // smallest)))
    inner = np.searchsorted(done, done[-1] * np.arange(1, pieces) / pieces)
    return list(pairwise(np.unique([0, *inner.tolist(), len(done) - 1]).tolist()))
