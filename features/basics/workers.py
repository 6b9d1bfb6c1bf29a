"""Worker processes that end with their parent; a fork would lose the threads of libraries."""

import multiprocessing as mp
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final, Self, TypeVar

Result = TypeVar("Result")
_Call = tuple[Callable[..., Any], tuple[Any, ...]]

# `-P`: nothing is imported from the folder in which the job runs, unless the parent would.
_SERVE: Final = "import sys; sys.path[:] = sys.argv[1:]; from features.basics.workers import serve; serve()"


class WorkerDied(Exception):
    """A worker process ended before its answer."""


class WorkerPool:
    """Processes that call functions of modules; each calls `initializer(*arguments)` first.

    A process is started when a call finds none idle. An exception that leaves the block ends them at once.
    """

    def __init__(self, workers: int, initializer: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._first: _Call = initializer, arguments
        self._threads = ThreadPoolExecutor(workers)  # each talks to a process of its own
        self._own = threading.local()
        self._processes: list[_Process] = []
        self._starting, self._over = threading.Lock(), False

    def submit(self, function: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        """Future of the result; it raises what the function raises, or WorkerDied."""
        return self._threads.submit(self._called, function, arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._threads.shutdown(wait=error is None, cancel_futures=error is not None)
        with self._starting:
            self._over = True
            for process in self._processes:
                process.end()
        self._threads.shutdown()
        for process in self._processes:
            process.close()

    def _called(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if not hasattr(self._own, "process"):
            with self._starting:
                if self._over:
                    raise WorkerDied
                process = _Process()
                self._processes.append(process)
            process.called(*self._first)
            self._own.process = process  # one that could not begin is asked for nothing else
        return self._own.process.called(function, arguments)


class _Process:
    def __init__(self) -> None:
        asked, self._calls = mp.Pipe(duplex=False)
        self._answers, answered = mp.Pipe(duplex=False)
        with asked, answered:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _SERVE, *sys.path],
                stdin=asked.fileno(),
                stdout=answered.fileno(),
                process_group=0,  # Ctrl-C reaches the parent alone, and it tells
            )

    def called(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        try:
            self._calls.send((function, arguments))
            succeeded, result = self._answers.recv()
        except (OSError, EOFError):
            raise WorkerDied from None
        if not succeeded:
            raise result
        return result

    def end(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.wait()
        self._calls.close()
        self._answers.close()


def serve() -> None:
    """Answers requests on standard input, until the parent is gone."""
    answers = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # what a library prints is no answer
    calls: SimpleQueue[_Call] = SimpleQueue()
    threading.Thread(target=_listen, args=(Connection(os.dup(0), writable=False), calls), daemon=True).start()
    while True:
        function, arguments = calls.get()
        try:
            answers.send((True, function(*arguments)))
        except Exception as error:
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            answers.send((False, error))


def _listen(stream: Connection, calls: "SimpleQueue[_Call]") -> None:
    try:
        while True:
            calls.put(stream.recv())
    except EOFError:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
