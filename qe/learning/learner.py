"""Learner: a scikit-learn estimator and its search space."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator

from features.basics.catalogue import Catalogue
from qe.config.distributions import Distribution
from qe.config.spaces import draw

if TYPE_CHECKING:
    import optuna


class Learner(ABC):
    """Names an estimator's parameters and where to search for them; holds no state.

    Parameters
    ----------
    space : mapping of str to Distribution, default={}
        Parameter -> the distribution that `suggest` draws from.
    scale : bool, default=True
        Whether its inputs are standardised first.
    takes_trees : bool, default=False
        Whether it works with columns of trees; it then gets its inputs as a table (DataFrame).
    takes_names : bool, default=False
        Whether its parameters name features; it then gets a table, too.
    trusted_types : tuple of str, default=()
        Fully qualified names of the classes within a fitted estimator, scikit-learn's included: model
        files may hold these, the estimator's own class, and no others.
    """

    space: ClassVar[Mapping[str, Distribution]] = {}
    scale: ClassVar[bool] = True
    takes_trees: ClassVar[bool] = False
    takes_names: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        """An unfitted regressor. `seed` is the seed of its random parts."""

    def named(self, params: Mapping[str, Any]) -> Sequence[str]:
        """Names of features among the parameters, which must be names of columns; by default none."""
        return ()

    def suggest(
        self,
        trial: "optuna.trial.BaseTrial",
        space: Mapping[str, Distribution] | None = None,
        prefix: str = "",
    ) -> dict[str, Any]:
        """Draws one value for each parameter of `space` (default: the learner's own)."""
        chosen = self.space if space is None else space
        return {name: draw(trial, prefix + name, distribution) for name, distribution in chosen.items()}


LEARNERS: Catalogue[Learner] = Catalogue("qe.learning.learners", Learner, "learner", plugins=True)
