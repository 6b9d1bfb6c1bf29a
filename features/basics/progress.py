"""Progress of long work as a callback, so that libraries print nothing."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Progress(Protocol):
    """Called as work goes on; `total` is None if the end is not known."""

    def __call__(self, stage: str, count: int, total: int | None, /) -> None: ...


def silent(stage: str, count: int, total: int | None) -> None:
    """The default: report nothing."""


def reported(items: Iterable[Item], progress: Progress, stage: str, total: int) -> Iterator[Item]:
    """Yields the items; reports each of them before the next."""
    for count, item in enumerate(items, start=1):
        yield item
        progress(stage, count, total)


def prefixed(progress: Progress, prefix: str) -> Progress:
    def report(stage: str, count: int, total: int | None, /) -> None:
        progress(f"{prefix}: {stage}", count, total)

    return report
