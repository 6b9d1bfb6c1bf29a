"""Search path of modules, without the working directory. That folder may come from elsewhere."""

import sys
from contextlib import suppress
from pathlib import Path

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
