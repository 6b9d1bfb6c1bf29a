"""The search space of an experiment: what a trial draws, and from which values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from qe.config.distributions import Distribution, nested, parse_space
from qe.config.experiment import SearchSection, StrategySection
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS

if TYPE_CHECKING:
    import optuna

    from qe.models.pipeline import Candidate


@dataclass(frozen=True)
class Space:
    """Everything a trial draws: which learner, its parameters, which selector, its parameters."""

    learners: Sequence[StrategySection]
    selectors: Sequence[StrategySection]
    clip: float = 0.0

    def draw(self, trial: "optuna.trial.BaseTrial") -> "Candidate":
        """One candidate; a parameter `p` of learner `k` is named `k.p` in the study."""
        from qe.models.pipeline import Candidate  # slow to import, and not needed to check a plan

        learner = _choose(trial, "learner", self.learners)
        selector = _choose(trial, "selector", self.selectors)
        return Candidate(
            learner.kind,
            {**learner.params, **_values(trial, learner, LEARNERS, "learner")},
            selector.kind,
            {**selector.params, **_values(trial, selector, SELECTORS, "selection")},
            self.clip,
        )

    def distributions(self) -> dict[str, Distribution]:
        """All parameters by their names in the study."""
        spaces = [(section, _space(section, LEARNERS, "learner")) for section in self.learners]
        spaces += [(section, _space(section, SELECTORS, "selection")) for section in self.selectors]
        return {f"{s.kind}.{name}": value for s, space in spaces for name, value in space.items()}

    @property
    def single(self) -> bool:
        """Whether there is nothing to search."""
        return not self.distributions() and len(self.learners) == len(self.selectors) == 1

    def grid(self) -> dict[str, list[Any]]:
        """Values of every parameter. Raises InputError for a continuous range or several strategies."""
        if len(self.learners) > 1 or len(self.selectors) > 1:
            raise InputError("a grid takes one learner and one selector", location="search.sampler")
        return {name: values.grid(name) for name, values in self.distributions().items()}

    def most_trials(self, section: SearchSection) -> int:
        """How many candidates a search tries at most; 1 if there is nothing to search."""
        if self.single:
            return 1
        if section.sampler == "grid":
            return math.prod(len(values) for values in self.grid().values())
        return section.most_trials


def _space(section: StrategySection, catalogue: Catalogue[Any], key: str) -> dict[str, Distribution]:
    if section.space is not None:
        return parse_space(section.space, f"{key}.space")
    default: dict[str, Distribution] = catalogue.get(section.kind).space
    return {name: value for name, value in default.items() if name not in section.params}


def _choose(
    trial: "optuna.trial.BaseTrial", name: str, sections: Sequence[StrategySection]
) -> StrategySection:
    if len(sections) == 1:
        return sections[0]
    kind = trial.suggest_categorical(name, [section.kind for section in sections])
    return next(section for section in sections if section.kind == kind)


def _values(
    trial: "optuna.trial.BaseTrial", section: StrategySection, catalogue: Catalogue[Any], key: str
) -> dict[str, Any]:
    space = _space(section, catalogue, key)
    return nested({name: value.draw(trial, f"{section.kind}.{name}") for name, value in space.items()})
