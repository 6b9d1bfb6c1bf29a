"""Journal repair: cuts off the unfinished line or NUL bytes that a crash leaves behind."""

import os
from pathlib import Path

from optuna.storages.journal import JournalFileSymlinkLock

from features.basics.errors import InputError

_STEP = 1 << 16


def cut_unfinished(path: Path, lock: JournalFileSymlinkLock) -> str:
    """Cuts a journal to its last whole line.

    Returns a note on the loss, empty if the journal was whole.

    The lock keeps writers away: outside it, a line that another process has begun is no damage.

    Raises InputError if the file cannot be read or written.
    """
    try:
        if not path.is_file() or _end_of_lines(path) == path.stat().st_size:
            return ""
        lock.acquire()
        try:
            end, size = _end_of_lines(path), path.stat().st_size
            if end < size:
                os.truncate(path, end)
        finally:
            lock.release()
    except OSError as error:
        raise InputError(f"cannot be mended ({error.strerror})", location=path) from None
    lost = size - end
    return f"{path.name} ended in an unfinished line: its last {lost} bytes were cut off" if lost else ""


def _end_of_lines(path: Path) -> int:
    end = path.stat().st_size
    with path.open("rb") as file:
        while end:
            begin = max(0, end - _STEP)
            file.seek(begin)
            place = file.read(end - begin).rfind(b"\n")
            if place >= 0:
                return begin + place + 1
            end = begin
    return 0
