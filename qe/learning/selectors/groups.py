"""Groups of features, each on or off; a search chooses groups together with all else."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from features.basics.array_types import BoolArray
from features.basics.errors import InputError
from qe.learning.selector import NothingSelected, Selector
from qe.learning.selectors.names import column_names, matching


class Groups(Selector):
    """Drops the columns of the groups that are switched off.

    In an experiment, `space: {use: {lm: [true, false], ...}}` lets every trial draw each group.
    Needs named columns (a DataFrame) if there are groups. Raises InputError if X has no names, a
    pattern matches nothing, or `use` names no group; NothingSelected where no column is left.

    Parameters
    ----------
    groups : mapping of str to sequence of str or None, default=None
        Name -> shell patterns of column names, e.g. `{lm: [lm_*], length: ["1001", "1002"]}`.
    use : mapping of str to bool or None, default=None
        Name -> whether the group stays; a group that is not named stays, and so do columns of no group.
    """

    def __init__(
        self, groups: Mapping[str, Sequence[str]] | None = None, use: Mapping[str, bool] | None = None
    ) -> None:
        self.groups = groups
        self.use = use

    def fit(self, X: Any, y: Any = None) -> Self:
        validate_data(self, X)
        self.support_ = np.ones(self.n_features_in_, np.bool_)
        groups, use = self.groups or {}, self.use or {}
        unknown = sorted(set(use) - set(groups))
        if unknown:
            raise InputError(
                f"`use` names {', '.join(unknown)}", remedy=f"groups: {', '.join(groups) or 'none'}"
            )
        names = column_names(self) if groups else []
        for name, patterns in groups.items():
            chosen = np.any([matching(pattern, names) for pattern in patterns], axis=0)
            if not use.get(name, True):
                self.support_ &= ~chosen
        if not self.support_.any():
            raise NothingSelected("no feature is left: every group is switched off")
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)
