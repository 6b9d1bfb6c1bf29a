"""Progress of long work as a callback, so that libraries print nothing."""

from typing import Protocol


class Progress(Protocol):
    """Called as work goes on; `total` is None if the end is not known."""

    def __call__(self, stage: str, count: int, total: int | None, /) -> None: ...


def silent(stage: str, count: int, total: int | None) -> None:
    """The default: report nothing."""


def prefixed(progress: Progress, prefix: str) -> Progress:
    def report(stage: str, count: int, total: int | None, /) -> None:
        progress(f"{prefix}: {stage}", count, total)

    return report
