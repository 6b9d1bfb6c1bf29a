"""The user's folders of caches and data, and whether others could write there."""

import contextlib
import grp
import os
import pwd
import shlex
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from features.basics.errors import InputError
from features.storage.files import atomic_file

CACHE_TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/
_SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"
_MAKER = "# This folder is a cache of qe."
USER_CACHE = ("XDG_CACHE_HOME", "~/.cache")
USER_DATA = ("XDG_DATA_HOME", "~/.local/share")


def cache_entry(cache: Path, kind: str, name: str) -> Path:
    """The path of an entry; the folder `cache` gets the tag by which `qe cache prune` knows it."""
    tag_cache(cache)
    return cache / kind / name


def tag_cache(folder: Path) -> None:
    """Write the tag of a cache, unless the folder has one or cannot be written."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / CACHE_TAG).open("x", encoding="ascii") as stream:
            stream.write(f"{_SIGNATURE}\n{_MAKER}\n")


def check_tagged(folder: Path) -> None:
    """Raises InputError for a folder that has no tag, or that of another program."""
    tag = folder / CACHE_TAG
    try:
        lines = tag.read_text("utf-8", errors="replace").splitlines() if tag.is_file() else []
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", location=tag) from None
    if lines[:1] != [_SIGNATURE] or _MAKER not in lines:
        raise InputError(
            f"is no cache of qe: it has no {CACHE_TAG} that qe wrote",
            location=folder,
            remedy="if an earlier version of qe made it and it holds nothing else, tag it: "
            f"printf '{_SIGNATURE}\\n{_MAKER}\\n' > {shlex.quote(str(tag))}",
        )


def default_cache() -> Path:
    """QE_CACHE_DIR, else `qe` in XDG_CACHE_HOME, else in ~/.cache; raises InputError if there is none."""
    given = os.environ.get("QE_CACHE_DIR")
    folder = Path(given) if given else user_folder(*USER_CACHE)
    if folder is None:
        remedy = "name a folder in QE_CACHE_DIR, or with --cache-dir"
        raise InputError("no home for the cache", remedy=remedy)
    return folder


def user_folder(variable: str, default: str) -> Path | None:
    """`qe` in the folder of a variable, or in the default if it is no absolute path; None without a home."""
    base = Path(os.environ.get(variable, ""))
    with suppress(RuntimeError):  # nobody knows this user
        base = base if base.is_absolute() else Path(default).expanduser()
    return base / "qe" if base.is_absolute() else None


def of_user_alone(folder: Path) -> bool:
    """Makes the folder if possible; whether only the user can write it, or rename a parent."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
        folder = folder.resolve()
        own, *above = (place.stat() for place in (folder, *folder.parents))
    except (OSError, RuntimeError):
        return False
    if own.st_uid != os.geteuid() or _open(own):
        return False
    return all(
        place.st_uid in (0, os.geteuid()) and (place.st_mode & stat.S_ISVTX or not _open(place))
        for place in above
    )


def _open(place: os.stat_result) -> bool:
    """Whether others could write there; a group of the user alone is not others."""
    if place.st_mode & stat.S_IWOTH:
        return True
    if not place.st_mode & stat.S_IWGRP:
        return False
    try:
        group, user = grp.getgrgid(place.st_gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return group.gr_name != user.pw_name or place.st_gid != user.pw_gid or bool(group.gr_mem)


_CHECKED = "checked"  # the folder of the texts that are kept
_MAX_ENTRIES = 10_000  # entries; beyond it the older half goes


def recall(name: str) -> str | None:
    """The text kept under a name; None if there is none, or the folder cannot be read."""
    try:
        folder = default_cache() / _CHECKED
        return (folder / name).read_text("utf-8") if folder.is_dir() and of_user_alone(folder) else None
    except (OSError, ValueError, InputError):  # not readable, not text, no home
        return None


def keep(name: str, text: str) -> None:
    """Keeps a text under a name; a folder that cannot be used costs time later, and is no error."""
    with contextlib.suppress(OSError, InputError):
        folder = default_cache() / _CHECKED
        if of_user_alone(folder):
            tag_cache(folder.parent)
            with atomic_file(folder / name) as temporary:
                temporary.write_text(text, "utf-8")
            entries = list(os.scandir(folder))
            if len(entries) > _MAX_ENTRIES:
                by_age = sorted(entries, key=lambda entry: entry.stat().st_mtime_ns)
                for entry in by_age[: len(by_age) // 2]:
                    Path(entry).unlink(missing_ok=True)
