"""What verbs share: progress bars on stderr, the console, warnings kept quiet."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from features.core.progress import Progress as Report
from features.core.progress import silent

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only results and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout.")]

Engine = Annotated[
    str, typer.Option("--engine", help="local, or spark: Apache Spark (pip install 'qe[spark]', and Java).")
]
Master = Annotated[
    str | None, typer.Option("--master", help="Of Spark, such as spark://HOST:7077; default: local[*].")
]


def on_spark(engine: str, master: str | None) -> bool:
    """Whether the engine is Spark. Raises InputError for an unknown one, or a master without Spark."""
    from features.core.errors import InputError

    if engine not in ("local", "spark"):
        raise InputError(f"unknown engine '{engine}'", where="--engine", remedy="known: local, spark")
    if master is not None and engine != "spark":
        raise InputError("--master is Spark's", remedy="add --engine spark")
    return engine == "spark"


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Report]:
    """Yields a Progress callback that draws bars on stderr; silent with `quiet` or without a terminal.

    A bar appears two seconds after its stage began, so that short work stays quiet.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(bars)


class _Bars:
    """One bar per stage, shown once the stage has lasted two seconds."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.tasks: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage not in self.tasks:
            self.tasks[stage] = self.bars.add_task(stage, total=total, visible=False)
        task = self.tasks[stage]
        elapsed = next(t for t in self.bars.tasks if t.id == task).elapsed or 0.0
        self.bars.update(task, completed=done, total=total, description=stage, visible=elapsed > 2)
