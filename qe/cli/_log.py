"""A verb's log on stderr: sentences for people, or JSON objects for machines."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TextIO

from features.basics.errors import visible
from features.basics.progress import Progress
from qe.display import output_schemas


def is_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON.

    >>> is_json(["score", "--log", "json"]), is_json(["score", "--log=json"]), is_json(["score", "json"])
    (True, True, False)
    """
    return "--log=json" in arguments or ("--log", "json") in pairwise(arguments)


def event(name: str, stream: TextIO | None = None, **values: Any) -> None:
    import json

    time_of = datetime.now(UTC).isoformat(timespec="milliseconds")
    content = output_schemas.stamped("log", {"time": time_of, "event": name, **values})
    print(visible(json.dumps(content, ensure_ascii=False), json=True), file=stream or sys.stderr, flush=True)


@dataclass(frozen=True)
class TextLog:
    verb: str

    def tell(self, kind: str, text: str, *, quiet: bool = False) -> None:
        """A note or a warning; `quiet` leaves it out."""
        if not quiet:
            print(f"qe {self.verb}: {text}", file=sys.stderr)

    def event(self, name: str, **values: Any) -> None:
        """An event for machines only."""

    def progress(self, quiet: bool) -> AbstractContextManager[Progress]:
        from qe.cli.shared.progress import progress_bar

        return progress_bar(quiet)


@dataclass(frozen=True)
class JsonLog:
    """A log with a JSON object a line: begin, stage, note, warning, failed, end, error."""

    verb: str

    def tell(self, kind: str, text: str, *, quiet: bool = False) -> None:
        self.event(kind, message=text)

    def event(self, name: str, **values: Any) -> None:
        event(name, verb=self.verb, **values)

    @contextmanager
    def progress(self, quiet: bool) -> Iterator[Progress]:
        stages = Stages(self.event)
        try:
            yield stages
        finally:
            stages.end()


Log = TextLog | JsonLog


class Stages:
    """Progress as events: one for a stage, with how much was done and how long it took.

    >>> stages = Stages(lambda name, **values: print(name, values), now=iter([0.0, 1.5, 2.0, 2.0]).__next__)
    >>> stages("scoring", 0, 10)
    >>> stages("scoring", 10, 10)
    >>> stages("joining", 3, 10)
    stage {'stage': 'scoring', 'done': 10, 'total': 10, 'seconds': 1.5}
    >>> stages.end()
    stage {'stage': 'joining', 'done': 3, 'total': 10, 'seconds': 0.0}
    """

    def __init__(self, emit: Callable[..., None], now: Callable[[], float] = time.monotonic) -> None:
        self.emit, self.now = emit, now
        self._stage, self._start, self._last = "", 0.0, 0.0
        self._counts: tuple[int, int | None] = (0, None)

    def __call__(self, stage: str, count: int, total: int | None) -> None:
        now = self.now()
        if stage != self._stage:
            self.end()
            self._stage, self._start = stage, now
        self._counts, self._last = (count, total), now

    def end(self) -> None:
        if self._stage:
            count, total = self._counts
            seconds = round(self._last - self._start, 3)
            self.emit("stage", stage=self._stage, done=count, total=total, seconds=seconds)
            self._stage = ""
