"""Selector: a scikit-learn transformer with get_support, refitted inside every fold."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin

from features.basics.array_types import BoolArray
from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from qe.config.distributions import Distribution


class NothingSelected(InputError):
    """Raised if no column remains; a search skips such a trial."""


class Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of selectors, which implement `fit(X, y)`, which sets `support_` (columns,).

    X is standardised and free of NaN; `feature_names_in_` is set if X is a DataFrame.
    A transformer that creates new columns (PCA) overrides `transform`.

    Parameters
    ----------
    space : mapping of str to Distribution, default={}
        Parameter -> the distribution that is searched together with the learner's.
    """

    space: ClassVar[Mapping[str, Distribution]] = {}
    support_: BoolArray

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)


SELECTORS: Catalogue[Selector] = Catalogue("qe.learning.selectors", Selector, "selector", plugins=True)
