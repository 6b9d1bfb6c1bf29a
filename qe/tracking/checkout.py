"""The commit of the working directory's checkout.

It is found without running a program that its settings name.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_BORROWED: Final = ("objects", "index")
_SHA1: Final = 40  # characters of a commit's name
_SHA256: Final = "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n"


def working_directory_commit() -> str:
    """The commit of the working directory's checkout.

    `+` follows if files differ, or cannot be compared.

    Empty outside a checkout. A checkout may come from elsewhere, and its settings name programs that `git
    status` runs (file system monitors, filters, hooks). So files are compared by a repository without
    settings, which borrows the objects and the index.
    """
    try:
        commit = _git("rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return ""
    try:
        return commit + ("+" if _differs(commit) else "")
    except (OSError, subprocess.CalledProcessError):
        return f"{commit}+"


def _differs(commit: str) -> bool:
    top = _git("rev-parse", "--show-toplevel")
    objects, index = (Path(top, _git("-C", top, "rev-parse", "--git-path", name)) for name in _BORROWED)
    with TemporaryDirectory() as bare:
        Path(bare, "refs").mkdir()
        Path(bare, "HEAD").write_text(f"{commit}\n", "utf-8")
        if len(commit) > _SHA1:
            Path(bare, "config").write_text(_SHA256, "utf-8")
        places = {"GIT_DIR": bare, "GIT_WORK_TREE": top}
        places |= {"GIT_OBJECT_DIRECTORY": str(objects), "GIT_INDEX_FILE": str(index)}
        return bool(
            _git("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", **places)
        )


def _git(*arguments: str, **environment: str) -> str:
    surroundings = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", **environment}
    result = subprocess.run(["git", *arguments], env=surroundings, capture_output=True, text=True, check=True)
    return result.stdout.strip()
