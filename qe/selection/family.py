"""Features by name."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from features.core.errors import InputError
from qe.selection._base import Selector
from qe.selection._checks import BoolArray


class Family(Selector):
    """Keeps the columns that match a pattern of `keep` and none of `drop`, e.g. `lm_*`, `1001`.

    Patterns are shell patterns, case matters; without `keep` all columns match. Needs named columns (a
    DataFrame). Raises InputError where X has no names, a pattern matches nothing, or nothing is left.
    """

    def __init__(self, keep: Sequence[str] = (), drop: Sequence[str] = ()) -> None:
        self.keep = keep
        self.drop = drop

    def fit(self, X: Any, y: Any = None) -> Self:
        validate_data(self, X)
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if not names and (len(self.keep) or len(self.drop)):
            raise InputError(
                "features are selected by name, but they have no names here", remedy="pass a DataFrame"
            )
        self.support_ = np.ones(self.n_features_in_, np.bool_)
        if len(self.keep):
            self.support_ = np.any([_matches(pattern, names) for pattern in self.keep], axis=0)
        for pattern in self.drop:
            self.support_ &= ~_matches(pattern, names)
        if not self.support_.any():
            raise InputError(f"no feature is left after dropping {list(self.drop)}")
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)


def _matches(pattern: str, names: list[str]) -> BoolArray:
    found = np.asarray([fnmatchcase(name, pattern) for name in names])
    if not found.any():
        raise InputError(f"no feature matches '{pattern}'", remedy=f"known: {', '.join(names)}")
    return found
