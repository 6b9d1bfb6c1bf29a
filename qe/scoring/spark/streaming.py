"""Streaming: rows of a Spark job to the driver, a partition at a time."""

from collections.abc import Iterator
from typing import Any


def streamed(frame: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a DataFrame in order.

    All partitions are computed at once, on disk, then fetched in turn.

    The driver holds two partitions at most.
    """
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.DISK_ONLY)
    try:
        kept.count()
        for row in kept.toLocalIterator(prefetchPartitions=True):
            yield tuple(row)
    finally:
        kept.unpersist()
