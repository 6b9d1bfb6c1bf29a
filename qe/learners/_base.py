"""Learner: a scikit-learn estimator and its search space. Think twice before adding here."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import optuna
from optuna.distributions import BaseDistribution
from sklearn.base import BaseEstimator

from features.core.catalogue import Catalogue
from qe.spaces import draw


class Learner(ABC):
    """Names an estimator's parameters and where to search for them; holds no state.

    space          parameter -> Optuna distribution that `suggest` draws from
    scale          whether its inputs are standardised first
    trusted_types  fully qualified names that skops may load for this estimator, besides scikit-learn's own
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {}
    scale: ClassVar[bool] = True
    trusted_types: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        """An unfitted regressor. `seed` feeds whatever is random in it."""

    def suggest(
        self,
        trial: optuna.trial.BaseTrial,
        space: Mapping[str, BaseDistribution] | None = None,
        prefix: str = "",
    ) -> dict[str, Any]:
        """Draws one value for each parameter of `space` (default: the learner's own)."""
        chosen = self.space if space is None else space
        return {name: draw(trial, prefix + name, distribution) for name, distribution in chosen.items()}


LEARNERS: Catalogue[Learner] = Catalogue("qe.learners", Learner, "learner")
