"""Worker processes that end with the process that started them, however that ends."""

import multiprocessing as mp
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


def forks() -> bool:
    """Whether workers are forked, and so share what the parent has loaded, without a copy."""
    return "fork" in mp.get_all_start_methods()


@contextmanager
def worker_pool(
    workers: int, initializer: Callable[..., None], arguments: tuple[Any, ...]
) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes; `initializer(*arguments)` runs first in each.

    The parent holds one end of a pipe, and every worker waits at the other: if the parent is gone, even by
    SIGKILL, or an exception leaves the block, the pipe breaks and the workers end at once.
    """
    context = mp.get_context("fork" if forks() else "spawn")
    waiting, leash = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _start, (waiting, leash, initializer, arguments))
    try:
        yield pool
        pool.shutdown()
    finally:
        leash.close()
        waiting.close()
        pool.shutdown(cancel_futures=True)


def _start(
    waiting: Connection, leash: Connection, initializer: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    leash.close()  # only the parent holds it
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches all processes of a terminal; the parent tells
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, args=(waiting,), daemon=True).start()
    initializer(*arguments)


def _end_with_parent(waiting: Connection) -> None:
    waiting.poll(None)
    os._exit(1)
