"""Columns by name: shell patterns over the names that a selector was fitted with."""

from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from features.basics.array_types import BoolArray
from features.basics.errors import InputError


def column_names(selector: Any) -> list[str]:
    """The names of the columns a selector saw in `fit`. Raises InputError if they had none."""
    names = [str(name) for name in getattr(selector, "feature_names_in_", ())]
    if not names:
        raise InputError(
            "features are selected by name, but they have no names here", remedy="pass a DataFrame"
        )
    return names


def matching(pattern: str, names: list[str]) -> BoolArray:
    """(k,) which names match; case matters. Raises InputError if none does."""
    chosen = np.asarray([fnmatchcase(name, pattern) for name in names])
    if not chosen.any():
        raise InputError(f"no feature matches '{pattern}'", remedy=f"known: {', '.join(names)}")
    return chosen
