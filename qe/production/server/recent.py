"""Recent: what the last segments look like beside the training data."""

from collections import deque
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from threading import Lock

from qe.models.drift import Counts, DriftReport, Profile

_BLOCKS = 10


@dataclass(eq=False)
class Recent:
    """Counts of the last `rows` segments, give or take a tenth of them."""

    profile: Profile
    rows: int
    _blocks: deque[Counts] = field(default_factory=lambda: deque(maxlen=_BLOCKS))
    _newest: Counts | None = None
    _lock: Lock = field(default_factory=Lock)

    def add(self, counts: Counts) -> None:
        with self._lock:
            self._newest = counts if self._newest is None else self._newest + counts
            if self._newest.n * _BLOCKS >= self.rows:
                self._blocks.append(self._newest)
                self._newest = None

    def report(self) -> DriftReport | None:
        """How they differ from the training data; None before the first."""
        with self._lock:
            counted = [*self._blocks, *([] if self._newest is None else [self._newest])]
        return self.profile.report(reduce(add, counted)) if counted else None
