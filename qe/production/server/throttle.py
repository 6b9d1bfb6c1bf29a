"""Throttle: so many lines of a kind a second reach the log, and how many were left out."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

REQUESTS = "qe.production.server"  # the logger of requests


@dataclass
class _Bucket:
    lines: float
    since: float
    left_out: int = 0


@dataclass(eq=False)
class Throttle(logging.Filter):
    """Passes `burst` lines of a level at once, and `rate` a second in the long run.

    Every level has its own lines, so that a flood of refused requests hides no error. The next line that
    passes says how many did not.
    """

    rate: float = 20.0
    burst: float = 100.0
    clock: Callable[[], float] = time.monotonic
    dropped: Callable[[], None] = lambda: None
    _buckets: dict[int, _Bucket] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def filter(self, record: logging.LogRecord) -> bool:
        now = self.clock()
        bucket = self._buckets.setdefault(record.levelno, _Bucket(self.burst, now))
        bucket.lines = min(self.burst, bucket.lines + self.rate * (now - bucket.since))
        bucket.since = now
        if bucket.lines < 1:
            bucket.left_out += 1
            self.dropped()
            return False
        bucket.lines -= 1
        if bucket.left_out:
            record.msg = f"{record.getMessage()} ({bucket.left_out:,} lines before this one were left out)"
            record.args, bucket.left_out = None, 0
        return True


@contextmanager
def logged(quiet: bool, throttle: Throttle) -> Iterator[None]:
    """All that is logged goes to stderr, throttled; requests too, unless `quiet`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handler.addFilter(throttle)
    root, requests = logging.getLogger(), logging.getLogger(REQUESTS)
    before = requests.level
    root.addHandler(handler)
    requests.setLevel(logging.WARNING if quiet else logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        requests.setLevel(before)
