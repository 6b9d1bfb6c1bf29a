"""The search space of an experiment: what a trial draws, and from where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna

from qe.config.distributions import Distribution
from qe.config.experiment import StrategySection
from qe.config.spaces import draw, nested, parse_space
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS
from qe.models.pipeline import Candidate


@dataclass(frozen=True)
class Space:
    """Everything a trial draws: which learner, its parameters, which selector, its parameters."""

    learners: Sequence[StrategySection]
    selectors: Sequence[StrategySection]
    clip: float = 0.0

    def draw(self, trial: optuna.trial.BaseTrial) -> Candidate:
        """One candidate; a parameter `p` of learner `k` is named `k.p` in the study."""
        learner = _choose(trial, "learner", self.learners)
        selector = _choose(trial, "selector", self.selectors)
        return Candidate(
            learner.kind,
            {**learner.params, **_drawn(trial, learner, learner_space(learner))},
            selector.kind,
            {**selector.params, **_drawn(trial, selector, selector_space(selector))},
            self.clip,
        )

    def distributions(self) -> dict[str, Distribution]:
        """All parameters by their names in the study."""
        distributions: dict[str, Distribution] = {}
        for section, space in (
            *((s, learner_space(s)) for s in self.learners),
            *((s, selector_space(s)) for s in self.selectors),
        ):
            distributions |= {f"{section.kind}.{name}": value for name, value in space.items()}
        return distributions

    @property
    def single(self) -> bool:
        """Whether there is nothing to search."""
        return not self.distributions() and len(self.learners) == len(self.selectors) == 1


def learner_space(section: StrategySection) -> dict[str, Distribution]:
    """The search space of a learner: the experiment's, or its own without fixed parameters."""
    return _space(section, LEARNERS.get(section.kind).space, "learner")


def selector_space(section: StrategySection) -> dict[str, Distribution]:
    """The space of a selector, likewise."""
    return _space(section, SELECTORS.get(section.kind).space, "selection")


def _space(
    section: StrategySection, default: Mapping[str, Distribution], location: str
) -> dict[str, Distribution]:
    if section.space is None:
        return {name: value for name, value in default.items() if name not in section.params}
    return parse_space(section.space, f"{location}.space")


def _choose(trial: optuna.trial.BaseTrial, what: str, sections: Sequence[StrategySection]) -> StrategySection:
    if len(sections) == 1:
        return sections[0]
    kind = trial.suggest_categorical(what, [section.kind for section in sections])
    return next(section for section in sections if section.kind == kind)


def _drawn(
    trial: optuna.trial.BaseTrial, section: StrategySection, space: Mapping[str, Distribution]
) -> dict[str, Any]:
    return nested({name: draw(trial, f"{section.kind}.{name}", value) for name, value in space.items()})
