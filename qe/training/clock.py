"""Clock: where the time of a run goes."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from features.basics.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class Clock:
    """Seconds by part of the work: wall-clock time, and CPU time with finished child processes.

    progress  told when a part begins and ends

    A part within a part counts for itself alone, so that all parts add up to the whole.

    >>> clock = Clock()
    >>> with clock.part("search"), clock.part("features"):
    ...     pass
    >>> sorted(entry["part"] for entry in clock.parts())
    ['features', 'search']
    """

    progress: Progress = silent
    _spent: dict[str, list[float]] = field(default_factory=dict, init=False, repr=False)
    _open: list[str] = field(default_factory=list, init=False, repr=False)
    _last: list[float] = field(default_factory=list, init=False, repr=False)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What is done within counts for `name`."""
        self._count()
        self._open.append(name)
        self.progress(name, 0, None)
        try:
            yield
        finally:
            self._count()
            self._open.pop()
            self.progress(name, 1, 1)

    def parts(self) -> list[dict[str, str | float]]:
        """`part`, `seconds` and `cpu_seconds` of every part, those with the most seconds first."""
        entries = sorted(self._spent.items(), key=lambda entry: -entry[1][0])
        return [
            {"part": name, "seconds": round(wall, 2), "cpu_seconds": round(processors, 2)}
            for name, (wall, processors) in entries
        ]

    def _count(self) -> None:
        now = _now()
        if self._open:
            spent = self._spent.setdefault(self._open[-1], [0.0, 0.0])
            for i, (before, after) in enumerate(zip(self._last, now, strict=True)):
                spent[i] += after - before
        self._last[:] = now


def _now() -> tuple[float, float]:
    times = os.times()
    return time.perf_counter(), sum(times[:4])
