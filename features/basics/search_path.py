"""Search path of modules: without the working directory, which may be a folder from elsewhere."""

import sys
from contextlib import suppress
from pathlib import Path

_HOME = Path(__file__).resolve().parents[2]  # of this project


def leave_out_working_directory() -> None:
    """Takes the working directory out of `sys.path`, unless this project lies there.

    An empty entry of PYTHONPATH puts it there.
    """
    with suppress(FileNotFoundError):  # one that is gone holds no modules
        here = Path.cwd().resolve()
        if here != _HOME:
            sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]
