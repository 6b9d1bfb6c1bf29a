"""Learner: a scikit-learn estimator and its search space."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from features.basics.catalogue import Catalogue
from qe.config.distributions import Distribution


class Learner(ABC):
    """Names an estimator's parameters and where to search for them; holds no state.

    Parameters
    ----------
    space : mapping of str to Distribution, default={}
        Parameter -> the distribution that a search draws from.
    scale : bool, default=True
        Whether its inputs are standardised first.
    takes_trees : bool, default=False
        Whether it works with columns of trees; it then gets its inputs as a table (DataFrame).
    takes_names : bool, default=False
        Whether its parameters name features; it then gets a table, too.
    trusted_types : tuple of str, default=()
        Fully qualified names of the classes within a fitted estimator, scikit-learn's included: model
        files may hold these, its own class, and no others.
    """

    space: ClassVar[Mapping[str, Distribution]] = {}
    scale: ClassVar[bool] = True
    takes_trees: ClassVar[bool] = False
    takes_names: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        """An unfitted regressor. `seed` is the seed of its random parts."""

    def feature_names(self, params: Mapping[str, Any]) -> Sequence[str]:
        """Names of features among the parameters, which must be names of columns; by default none."""
        return ()


LEARNERS: Catalogue[Learner] = Catalogue("qe.learning.learners", Learner, "learner", plugins=True)
