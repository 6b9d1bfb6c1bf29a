"""The user's cache folder for this project."""

import os
from pathlib import Path

from features.basics.errors import InputError


def default_cache() -> Path:
    """QE_CACHE_DIR, else `qe` in XDG_CACHE_HOME, else in ~/.cache.

    Raises InputError if none is named and the user has no home.
    """
    given, base = os.environ.get("QE_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given)
    try:
        return (Path(base) if base else Path("~/.cache").expanduser()) / "qe"
    except RuntimeError:
        remedy = "name a folder in QE_CACHE_DIR, or with --cache-dir"
        raise InputError("no home for the cache", remedy=remedy) from None
