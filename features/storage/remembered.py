"""Results on large files, kept in the user's cache folder to save time. Only in a folder that nobody else can
write or exchange: what is kept there is believed.
"""

import contextlib
import os
from pathlib import Path

from features.basics.errors import InputError
from features.storage.cache_folder import default_cache, of_user_alone, tag_cache
from features.storage.files import atomic_file

_MOST = 10_000  # entries; beyond it the older half goes


def recall(name: str) -> str | None:
    """The text kept under a name; None if there is none, or the folder cannot be read."""
    try:
        folder = _folder()
        return (folder / name).read_text("utf-8") if folder.is_dir() and of_user_alone(folder) else None
    except (OSError, ValueError, InputError):  # not readable, not text, no home
        return None


def keep(name: str, text: str) -> None:
    """Keeps a text under a name; a folder that cannot be used costs time later, and is no error."""
    with contextlib.suppress(OSError, InputError):
        folder = _folder()
        if of_user_alone(folder):
            tag_cache(folder.parent)
            with atomic_file(folder / name) as temporary:
                temporary.write_text(text, "utf-8")
            _prune(folder)


def _folder() -> Path:
    return default_cache() / "checked"


def _prune(folder: Path) -> None:
    entries = list(os.scandir(folder))
    if len(entries) > _MOST:
        by_age = sorted(entries, key=lambda entry: entry.stat().st_mtime_ns)
        for entry in by_age[: len(by_age) // 2]:
            Path(entry).unlink(missing_ok=True)
