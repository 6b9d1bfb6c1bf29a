"""What verbs share: options, lists, groups, the lock of an output folder, progress bars on stderr."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from features.basics.progress import Progress as Report
from features.basics.progress import silent
from qe.display.numbers import number


def on_spark(engine: str, master: str | None) -> bool:
    """Whether the engine is Spark. Raises InputError for an unknown one, or a master without Spark."""
    from features.basics.errors import InputError, unknown_name

    if engine not in ("local", "spark"):
        raise unknown_name("engine", engine, ("local", "spark"), where="--engine")
    if master is not None and engine != "spark":
        raise InputError("--master is Spark's", remedy="add --engine spark")
    return engine == "spark"


def tell_refused(verb: str, refused: Mapping[str, int], table: Path) -> None:
    """On stderr: reason -> rows of a table that were left out for it."""
    for reason, rows in refused.items():
        print(f"qe {verb}: {rows:,} rows of {table} cannot be used: {reason}", file=sys.stderr)


def groups(arguments: list[str]) -> dict[str, list[str]] | None:
    """NAME=FILE, or FILE for units named `group`."""
    from features.storage.files import read_lines

    return {name: list(read_lines(path)) for name, path in group_files(arguments).items()} or None


def group_files(arguments: list[str] | None) -> dict[str, Path]:
    """The files that `groups` reads. Raises InputError for a name that is given twice."""
    from features.basics.assignments import named_files

    return named_files(arguments or (), "--group", lambda path: "group")


def held(output: Path | None, verb: str, inputs: Iterable[Path | None]) -> AbstractContextManager[None]:
    """The output folder of a verb, if it is given one, kept from others while the verb works.

    Raises InputError as `locked_folder` does, when it is entered.
    """
    from features.storage.outputs import locked_folder

    if output is None:
        return nullcontext()
    return locked_folder(output, verb, inputs=[path for path in inputs if path is not None])


def emit(content: dict[str, object], to_stdout: bool, output: Path | None) -> None:
    """A report as JSON: to stdout, to a file, or both."""
    import json

    from features.storage.files import atomic_file

    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if output is not None:
        with atomic_file(output) as temporary:
            temporary.write_text(text, "utf-8")
    if to_stdout:
        typer.echo(text, nl=False)


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Report]:
    """Yields a Progress callback that draws bars on stderr; silent with `quiet` or without a terminal.

    A bar appears two seconds after its stage began, so that short work stays quiet.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Pace())
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(bars)


class _Bars:
    """One bar per stage, shown once the stage has lasted two seconds."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.tasks: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage not in self.tasks:
            begun = Begun(done, self.bars.get_time())
            self.tasks[stage] = self.bars.add_task(stage, total=total, visible=False, begun=begun, pace="")
        task = next(t for t in self.bars.tasks if t.id == self.tasks[stage])
        pace = task.fields["begun"].pace(done, total, self.bars.get_time())
        shown = (task.elapsed or 0.0) > 2
        self.bars.update(task.id, completed=done, total=total, description=stage, visible=shown, pace=pace)


@dataclass(frozen=True)
class Begun:
    """Beginning of a stage: how much was done then, and when (in seconds)."""

    done: int
    time: float

    def pace(self, done: int, total: int | None, now: float) -> str:
        """The rate since then, and the time that the rest takes at that rate; empty before anything is done.

        >>> Begun(1000, 0.0).pace(3000, 9000, 4.0)
        '500/s, 0:00:12 left'
        """
        if done <= self.done or now <= self.time:
            return ""
        rate = (done - self.done) / (now - self.time)
        shown = f"{number(rate, 0 if rate >= 10 else 1)}/s"
        if total is None:
            return shown
        return f"{shown}, {timedelta(seconds=round(max(total - done, 0) / rate))} left"


class _Pace(ProgressColumn):
    """Rate and remaining time, as of the last report."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["pace"], style="progress.remaining")


def registered(model: str, folder: Path) -> tuple[str, str] | None:
    """Name and version in the registry of a model that was named by it."""
    if not model.startswith("models:/"):
        return None
    from qe.tracking.logged_models import registered_as

    return registered_as(folder)
