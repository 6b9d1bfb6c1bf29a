"""JournalLock: Optuna's lock of a study's file, that a signal may interrupt at any moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from optuna.storages.journal import JournalFileSymlinkLock


class JournalLock(JournalFileSymlinkLock):
    """What ends the process is raised as it is, with the lock gone.

    Optuna's own lock, interrupted while it takes or gives back, tries to give back what it no longer has, and
    that error hides the interruption: a trial fails, and the search goes on.
    """

    def acquire(self) -> bool:
        with _interruptions_first():
            return super().acquire()

    def release(self) -> None:
        with _interruptions_first():
            super().release()


@contextmanager
def _interruptions_first() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while isinstance(cause, Exception):
            cause = cause.__context__
        if cause is None:
            raise
        raise cause from None
