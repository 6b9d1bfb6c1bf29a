"""How a command handles signals and standard streams that are closed, narrow or a terminal."""

import codecs
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from typing import Any, TextIO, cast

from features.basics.errors import InputError, known_name, visible
from features.basics.threads import THREADS, cores
from features.storage.surroundings import restored
from qe.display.output_schemas import PLOT_FORMATS, PLOTS


class VisibleStream:
    """Writes text with control characters and overrides of direction spelled out."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


_LIBRARIES = "OMP_NUM_THREADS"  # OpenBLAS, MKL, OpenMP, Arrow and PyTorch read it when they are loaded
_NUMBA = "NUMBA_NUM_THREADS"
_SAID = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}


class Stopped(BaseException):
    """A signal asked the process to end; `code` is the exit code that shells give such an end."""

    def __init__(self, number: int) -> None:
        super().__init__(_SAID[signal.Signals(number).name])
        self.code = 128 + number


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise Stopped in the block at signals that ask to end, as an error would: locks and processes go.

    A signal that is ignored (nohup) stays ignored. Errors that such a sudden end leads to (a lock that a
    library removes twice) are not reported.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    received: list[int] = []

    def stop(number: int, frame: object) -> None:
        received.append(number)
        raise Stopped(number)

    numbers = [getattr(signal, name) for name in _SAID if hasattr(signal, name)]
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in numbers}
    taken = [number for number in numbers if before[number] in usual]
    for number in taken:
        signal.signal(number, stop)
    try:
        yield
    except Exception:
        if received:
            raise Stopped(received[0]) from None
        raise
    finally:
        for number in taken:
            signal.signal(number, before[number])


@contextmanager
def standard_streams() -> Iterator[None]:
    """Streams that a command can write to, however it was started.

    Control characters and overrides of direction are spelled out in messages on stderr, and on stdout if it
    is a terminal. A character that stdout's encoding lacks is written as JSON would escape it. Raises
    InputError if stdout cannot be written (a full disk, closed), BrokenPipeError if nobody reads it.
    """
    with _open_streams():
        codecs.register_error("qe-escape", _escaped)
        stream = sys.stdout
        is_unicode = codecs.lookup(stream.encoding or "ascii").name.startswith("utf")
        if hasattr(stream, "reconfigure") and not is_unicode:
            stream.reconfigure(errors="qe-escape")
        watched, messages = _Watched(stream), sys.stderr
        sys.stdout, sys.stderr = cast(TextIO, watched), cast(TextIO, VisibleStream(messages))
        try:
            yield
        except SystemExit:
            _flush(watched)
            if watched.broken:
                raise BrokenPipeError from None
            raise
        except BaseException:
            with suppress(InputError, BrokenPipeError):  # there is something else to tell
                _flush(watched)
            raise
        else:
            _flush(watched)
        finally:
            sys.stdout, sys.stderr = stream, messages


class _Watched(VisibleStream):
    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._terminal = stream.isatty()
        self.broken = False

    def write(self, text: str) -> int:
        with self._watching():
            if self._terminal:
                super().write(text)
            else:
                self.raw.write(text)
        return len(text)

    def flush(self) -> None:
        with self._watching():
            self.raw.flush()

    @contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.broken = True
            raise
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", location="stdout") from None


def _flush(stream: _Watched) -> None:
    try:
        stream.flush()
    except (BrokenPipeError, InputError):
        _drain(stream)
        raise
    if stream.broken:
        _drain(stream)


def _drain(stream: _Watched) -> None:
    with suppress(OSError, UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def _open_streams() -> Iterator[None]:
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    # Written to stdout, an error tells; messages for a closed stderr are for nobody.
    modes = {"stdin": os.O_RDONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for name in closed:
        number = os.open(os.devnull, modes[name])
        setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    try:
        yield
    finally:
        for name in closed:
            stream = getattr(sys, name)
            setattr(sys, name, None)
            with suppress(OSError):
                stream.close()


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Characters as JSON escapes them, beyond the first 65,536 as two.

    >>> codecs.register_error("qe-escape", _escaped)
    >>> "é • \\U0001f600".encode("latin-1", "qe-escape").decode("latin-1")
    'é \\\\u2022 \\\\ud83d\\\\ude00'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return "".join(f"\\u{code:04x}" for code in codes), error.end


@contextmanager
def process_environment() -> Iterator[None]:
    """Sets variables for libraries and for processes that are started in the block.

    Libraries would otherwise count the machine's processors instead of those that this process may use;
    Python processes import nothing from the working directory; MLflow reports nothing to its makers. What the
    user has set stays.
    """
    numba = os.environ.get(_NUMBA, "1")
    if not numba.isdecimal() or int(numba) == 0:
        raise InputError(f"{_NUMBA} must be a whole number from 1, but is '{numba}'")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    with restored(THREADS, PLOTS, _LIBRARIES, "PYTHONSAFEPATH"):
        os.environ["PYTHONSAFEPATH"] = "1"
        os.environ.setdefault(_LIBRARIES, str(cores()))
        yield


def set_environment(threads: int | None, plots: Sequence[str] | None) -> None:
    """Set --threads and --plots, also for processes that are started, inside `process_environment`."""
    if threads is not None:
        os.environ[THREADS] = os.environ[_LIBRARIES] = str(threads)
    for kind in plots or ():
        known_name("format of plots", kind, PLOT_FORMATS)
    if plots:
        os.environ[PLOTS] = ",".join(plots)


@contextmanager
def store_named(name: str, arguments: Sequence[str]) -> Iterator[None]:
    if {"-q", "--quiet"} & {*arguments}:
        yield
        return
    logger, handler = logging.getLogger("qe.tracking"), _StoreNotices(name)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _StoreNotices(logging.Handler):
    def __init__(self, name: str) -> None:
        super().__init__(logging.INFO)
        self._verb, self._printed = name, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message not in self._printed and sys.stderr is not None:
            self._printed.add(message)
            print(f"{self._verb}: {message}", file=sys.stderr, flush=True)
