"""Learner: a scikit-learn estimator and its search space."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from features.basics.catalogue import Catalogue
from qe.config.distributions import Distribution


class Learner(ABC):
    """Parameters of an estimator and their search space; has no state.

    Parameters
    ----------
    space : mapping of str to Distribution, default={}
        Parameter -> the distribution that a search draws from.
    scale : bool, default=True
        Whether inputs are standardised first.
    takes_trees : bool, default=False
        Whether it uses columns of trees; its input is then a table (DataFrame).
    takes_names : bool, default=False
        Whether its parameters name features; its input is then a table (DataFrame).
    trusted_types : tuple of str, default=()
        Fully qualified names of the classes within a fitted estimator, including scikit-learn's. A model
        file may contain only these and the estimator's class.
    """

    space: ClassVar[Mapping[str, Distribution]] = {}
    scale: ClassVar[bool] = True
    takes_trees: ClassVar[bool] = False
    takes_names: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        """An unfitted regressor with random seed `seed`."""

    def feature_names(self, params: Mapping[str, Any]) -> Sequence[str]:
        """Feature names among the parameters, which must be column names; none by default."""
        return ()


LEARNERS: Catalogue[Learner] = Catalogue("qe.learning.learners", Learner, "learner", plugins=True)
