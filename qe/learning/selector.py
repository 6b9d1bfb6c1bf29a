"""Selector: a scikit-learn transformer with get_support, refitted inside every fold."""

from collections.abc import Mapping
from typing import ClassVar

from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from qe.config.distributions import Distribution


class NothingSelected(InputError):
    """No column is left; a search passes over such a trial."""


class Selector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Subclasses take parameters in `__init__`, implement `fit(X, y)` and `_get_support_mask()`.

    X is standardised and free of NaN; `feature_names_in_` is set when X is a DataFrame.
    A transformer that builds new columns (PCA) subclasses this too and overrides `transform`.

    Parameters
    ----------
    space : mapping of str to Distribution, default={}
        Parameter -> the distribution that is searched together with the learner's.
    """

    space: ClassVar[Mapping[str, Distribution]] = {}


SELECTORS: Catalogue[Selector] = Catalogue("qe.learning.selectors", Selector, "selector", plugins=True)
