"""Environment variables set for a while, and the search path of modules."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def restored(*names: str) -> Iterator[None]:
    """Variables are as before when the block ends.

    >>> with restored("QE_EXAMPLE"):
    ...     os.environ["QE_EXAMPLE"] = "1"
    >>> "QE_EXAMPLE" in os.environ
    False
    """
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_HOME = Path(__file__).resolve().parents[2]  # of this project


def leave_out_working_directory() -> None:
    """Takes the working directory out of `sys.path`, unless it holds this project. An empty entry of
    PYTHONPATH puts it there. So do relative entries, which editable installs of other packages add: what has
    such a name in the working directory would be imported.
    """
    with suppress(FileNotFoundError):  # one that is gone holds no modules
        here = Path.cwd().resolve()
        if here != _HOME:
            entries = (Path(entry) for entry in sys.path)
            sys.path[:] = [str(entry) for entry in entries if entry.is_absolute() and entry.resolve() != here]
