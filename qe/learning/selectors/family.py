"""Features by name."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from features.basics.array_types import BoolArray
from qe.learning.selector import NothingSelected, Selector
from qe.learning.selectors.names import column_names, matching


class Family(Selector):
    """Keeps the columns that match a pattern of `keep` and none of `drop`, e.g. `lm_*`, `1001`.

    Patterns are shell patterns, case matters; without `keep` all columns match. Needs named columns (a
    DataFrame). Raises InputError if X has no names, a pattern matches nothing, or nothing is left.
    """

    def __init__(self, keep: Sequence[str] = (), drop: Sequence[str] = ()) -> None:
        self.keep = keep
        self.drop = drop

    def fit(self, X: Any, y: Any = None) -> Self:
        validate_data(self, X)
        names = column_names(self) if len(self.keep) or len(self.drop) else []
        self.support_ = np.ones(self.n_features_in_, np.bool_)
        if len(self.keep):
            self.support_ = np.any([matching(pattern, names) for pattern in self.keep], axis=0)
        for pattern in self.drop:
            self.support_ &= ~matching(pattern, names)
        if not self.support_.any():
            raise NothingSelected(f"no feature is left after dropping {list(self.drop)}")
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)
