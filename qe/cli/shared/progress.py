"""Progress of long work on stderr: bars on a terminal, a line every 30 seconds in a file."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TextIO, cast

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from features.basics.errors import visible
from features.basics.progress import Progress as Report
from features.basics.progress import silent
from qe.cli._process import VisibleStream
from qe.display.numbers import number

QUIET: Final = 2.0  # seconds that a stage lasts before anything is shown
EVERY: Final = 30.0  # seconds between lines of a stage


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Report]:
    """Yields a Progress callback that shows stages longer than two seconds; silent with `quiet`."""
    messages = sys.stderr
    console = Console(file=getattr(messages, "raw", messages))
    if quiet:
        yield silent
    elif console.is_terminal:
        pace = TextColumn("{task.fields[pace]}", style="progress.remaining")
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), pace)
        with (
            _LateBars(*columns, console=console, transient=True) as bars,
            redirect_stdout(cast(TextIO, VisibleStream(sys.stdout))),  # above the bars
            redirect_stderr(cast(TextIO, VisibleStream(sys.stderr))),
        ):
            yield _Bars(bars)
    else:
        with _ticking(Lines(sys.stderr)) as lines:
            yield lines


@dataclass(frozen=True)
class Beginning:
    """Beginning of a stage: how much was done then, and when (in seconds)."""

    count: int
    time: float

    def pace(self, count: int, total: int | None, now: float) -> str:
        """The rate since then, and the remaining time at that rate; empty before anything is done.

        >>> Beginning(1000, 0.0).pace(3000, 9000, 4.0)
        '500/s, 0:00:12 left'
        """
        if count <= self.count or now <= self.time:
            return ""
        rate = (count - self.count) / (now - self.time)
        shown = f"{number(rate, 0 if rate >= 10 else 1)}/s"
        if total is None:
            return shown
        return f"{shown}, {timedelta(seconds=round(max(total - count, 0) / rate))} left"


class _LateBars(Progress):
    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table([task for task in self.tasks if (task.elapsed or 0.0) > QUIET])


@dataclass
class _Bars:
    bars: Progress
    tasks: dict[str, Any] = field(default_factory=dict)

    def __call__(self, stage: str, count: int, total: int | None) -> None:
        key = _key(stage)
        if key not in self.tasks:
            beginning = Beginning(count, self.bars.get_time())
            self.tasks[key] = self.bars.add_task(visible(stage), total=total, beginning=beginning, pace="")
        task = next(t for t in self.bars.tasks if t.id == self.tasks[key])
        pace = task.fields["beginning"].pace(count, total, self.bars.get_time())
        self.bars.update(task.id, completed=count, total=total, description=visible(stage), pace=pace)


def _key(stage: str) -> str:
    """What stays the same of a stage's name while it tells its best so far."""
    return stage.partition(" · best ")[0]


@dataclass
class _Stage:
    name: str
    beginning: Beginning
    count: int
    total: int | None
    last_line: float | None = None  # time when it was written


class Lines:
    """A line for the innermost stage when it has lasted two seconds, then every 30, and at its end."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.now = stream, now
        self._stages: dict[str, _Stage] = {}
        self._lock = threading.Lock()

    def __call__(self, stage: str, count: int, total: int | None) -> None:
        with self._lock:
            now = self.now()
            key = _key(stage)
            known = self._stages.setdefault(key, _Stage(stage, Beginning(count, now), count, total))
            known.name, known.count, known.total = stage, count, total
            if total is not None and count >= total:
                del self._stages[key]
                if now - known.beginning.time > QUIET:
                    self._write(f"{stage}: done in {timedelta(seconds=round(now - known.beginning.time))}")
        self.tick()

    def tick(self) -> None:
        with self._lock:
            if not self._stages:
                return
            stage = list(self._stages.values())[-1]
            now = self.now()
            if now - stage.beginning.time <= QUIET or (
                stage.last_line is not None and now - stage.last_line < EVERY
            ):
                return
            stage.last_line = now
            of = "" if stage.total is None else f"{stage.count:,} of {stage.total:,}"
            pace = stage.beginning.pace(stage.count, stage.total, now)
            passed = f"{timedelta(seconds=round(now - stage.beginning.time))} so far"
            self._write(f"{stage.name}: {', '.join(filter(None, (of, pace or passed)))}")

    def _write(self, line: str) -> None:
        self.stream.write(line + "\n")
        self.stream.flush()


@contextmanager
def _ticking(lines: Lines) -> Iterator[Lines]:
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            lines.tick()

    thread = threading.Thread(target=watch, daemon=True, name="progress")
    thread.start()
    try:
        yield lines
    finally:
        ended.set()
        thread.join()
