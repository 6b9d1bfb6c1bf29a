"""Learner: a scikit-learn estimator and its search space."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.catalogue import Catalogue
from qe.config.distributions import Distribution


class Learner:
    """An estimator of another library with its search space; one of our own is a `Regressor`.

    Parameters
    ----------
    regressor : type, default=None
        The estimator's class; None: the learner itself.
    defaults, fixed : mapping of str to Any, default={}
        Parameters that have other defaults than the estimator's, and those that an experiment cannot set.
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

    regressor: ClassVar[Any] = None
    defaults: ClassVar[Mapping[str, Any]] = {}
    fixed: ClassVar[Mapping[str, Any]] = {}
    space: ClassVar[Mapping[str, Distribution]] = {}
    scale: ClassVar[bool] = True
    takes_trees: ClassVar[bool] = False
    takes_names: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ()

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        """An unfitted regressor with random seed `seed`."""
        kind: Any = self.regressor or type(self)
        seeds = {name: seed for name in kind._get_param_names() if name in ("seed", "random_state")}
        return kind(**{**self.defaults, **seeds, **params, **self.fixed})

    def feature_names(self, params: Mapping[str, Any]) -> Sequence[str]:
        """Feature names among the parameters, which must be column names; none by default."""
        return ()


class Regressor(Learner, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A learner that is its own estimator: its parameters are those of its constructor."""


LEARNERS: Catalogue[Learner] = Catalogue("qe.learning.learners", Learner, "learner", plugins=True)
