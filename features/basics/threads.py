"""Threads on all cores that a process may use, and limits of memory and processors on Linux."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from features.basics.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Result = TypeVar("Result")
THREADS = "QE_THREADS"
_MAX_THREADS = 1024

_QUEUED_PER_THREAD = 4  # items a thread that are worked on, or done and waiting


def cores() -> int:
    """Number of parallel threads: QE_THREADS (InputError if invalid), else the usable processors."""
    asked = os.environ.get(THREADS)
    if asked is None:
        return usable()
    if not (asked.isascii() and asked.isdigit() and 0 < int(asked) <= _MAX_THREADS):
        raise InputError(f"{THREADS} must be a whole number from 1 to {_MAX_THREADS}, but is '{asked}'")
    return int(asked)


def usable() -> int:
    affine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return affine if quota is None else max(1, min(affine, math.ceil(quota)))


def processes(memory: int) -> int:
    """Number of parallel processes that take `memory` bytes each: one a core, if all fit."""
    left = memory_left()
    return cores() if left is None else max(1, min(cores(), left // max(memory, 1)))


def side_by_side(function: Callable[..., Result], *columns: Sequence[Any]) -> Iterator[Result]:
    """Results of `function` over items of the columns, in order; threads keep only a few items ahead."""
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
    deque(side_by_side(function, *columns), maxlen=0)


def even_ranges(work: "ArrayLike", smallest: int = 1, per_core: int = 4) -> list[tuple[int, int]]:
    """Ranges of neighbouring items with about equal `work` (n,), several per core, at least `smallest`."""
    import numpy as np  # here: the command line counts cores before it knows whether anything is computed

    done = np.cumsum(np.concatenate(([0], np.asarray(work, np.float64))))
    pieces = max(1, min(per_core * cores(), int(done[-1] // smallest)))
    inner = np.searchsorted(done, done[-1] * np.arange(1, pieces) / pieces)
    return list(pairwise(np.unique([0, *inner.tolist(), len(done) - 1]).tolist()))


ROOT = Path("/")
_CONTROLLERS = {"cpu": ("cpu", "cpu,cpuacct", "cpuacct,cpu"), "memory": ("memory",)}  # folders of version 1


def cpu_quota(root: Path = ROOT) -> float | None:
    """Processor time that the control groups grant, in processors; None without a limit."""
    quotas = []
    for folder in _groups("cpu", root):
        words = _text(folder / "cpu.max").split()
        version_2 = (float(words[0]), float(words[1])) if len(words) == 2 and words[0] != "max" else None
        limit, period = version_2 or (
            _number(folder / "cpu.cfs_quota_us"),
            _number(folder / "cpu.cfs_period_us"),
        )
        if limit > 0 and period > 0:
            quotas.append(limit / period)
    return min(quotas, default=None)


def memory_left(root: Path = ROOT) -> int | None:
    """Bytes that this process and its children may still take, caches included; None if unknown."""
    words = _lines(root / "proc/meminfo").get("MemAvailable", "").split()
    available = 1024 * int(words[0]) if words else None
    known = [available]
    for folder in _groups("memory", root):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes")
        if limit > 0:
            pairs = (line.split() for line in _text(folder / "memory.stat").splitlines())
            values = {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}
            cached = values.get("total_inactive_file", values.get("inactive_file", 0.0))
            known.append(max(0, int(limit - used + cached)))
    return min((value for value in known if value is not None), default=None)


def own_memory(root: Path = ROOT) -> int:
    """Bytes of memory that this process shares with no file; 0 if the system does not say."""
    words = _lines(root / "proc/self/status").get("RssAnon", "0").split()
    return 1024 * int(words[0])


def _groups(controller: str, root: Path) -> Iterator[Path]:
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, names, path = line.split(":", 2)
        if number == "0" and not names:
            yield from _upwards(root / "sys/fs/cgroup", path)
        elif controller in names.split(","):
            for name in _CONTROLLERS[controller]:
                yield from _upwards(root / "sys/fs/cgroup" / name, path)


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    folder = mount / path.strip("/")
    while folder != mount and mount in folder.parents:
        yield folder
        folder = folder.parent
    yield mount


def _lines(path: Path) -> dict[str, str]:
    return {
        name: text.strip() for name, _, text in (line.partition(":") for line in _text(path).splitlines())
    }


def _number(path: Path) -> float:
    text = _text(path).strip()
    return float(text) if text.lstrip("-").isdigit() else 0.0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
