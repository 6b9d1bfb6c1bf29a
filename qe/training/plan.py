"""Plan: a checked experiment, with what follows from its sections, and its search space."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.core.feature_set import expand, parts_needed, variant
from features.core.tree_columns import make_trees
from qe.config.distributions import Distribution, nested, parse_space
from qe.config.experiment import IN_MEMORY, Experiment, SearchSection, StrategySection
from qe.display.summary import Printable, entries
from qe.display.table import Table
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS

if TYPE_CHECKING:
    import optuna

    from qe.models.pipeline import Candidate

Strategy = Literal["learner", "selector"]


@dataclass(frozen=True)
class Plan(Printable):
    """A checked experiment (`qe.training.check`); `str` of it is a short text.

    Attributes
    ----------
    omitted : tuple of str
        Parts of the experiment that are left out, a sentence each.
    """

    experiment: Experiment
    omitted: tuple[str, ...] = ()

    @cached_property
    def features(self) -> list[Mapping[str, Any]]:
        """Settings of the extractors, those of sets one by one."""
        return list(expand(self.experiment.features))

    @cached_property
    def parts(self) -> list[str]:
        return parts_needed(self.features)

    @property
    def space(self) -> "Space":
        """The search space."""
        return Space(self.experiment.learner, self.experiment.selection)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        made, data, space = self.experiment, self.experiment.dataset, self.space
        return {
            "name": made.name,
            "dataset": "an object" if data.format == IN_MEMORY else f"{data.format} at {data.path}",
            "others": [f"{other.format} at {other.path}" for other in made.auxiliary_datasets],
            "extractors": [variant(config) for config in self.features],
            "trees": [tree.name for tree in make_trees(made.trees)],
            "resources": self.parts,
            "folds": made.split.folds,
            "by": made.split.fold_by,
            "repeats": made.split.repeats,
            "outer": made.split.outer,
            "selectors": [each.kind for each in made.selection],
            "learners": [each.kind for each in made.learner],
            "searched": list(space.distributions()),
            "trials": space.most_trials(made.search),
            "objective": list(made.search.objective),
            "metric": made.evaluation.metric,
        }

    def summary(self) -> Table:
        """The stages and sizes of the run."""
        return entries("experiment", self.experiment.name, self._lines().items())

    def __str__(self) -> str:
        lines = (f"  {name:<10}{text}" for name, text in self._lines().items())
        return "\n".join([f"{self.experiment.name}: ok", *lines])

    def _lines(self) -> dict[str, str]:
        plan = self.to_json()
        extractors, resources = len(plan["extractors"]), len(plan["resources"])
        trees = f", and {', '.join(plan['trees'])}" if plan["trees"] else ""
        times = f"{plan['repeats']} x " if plan["repeats"] > 1 else ""
        outer = f", inside {plan['outer']} outer folds" if plan["outer"] else ""
        trials = f"{plan['trials']} trials of {', '.join(plan['searched'])}" if plan["searched"] else "none"
        return {
            "data": plan["dataset"] + "".join(f", with {other}" for other in plan["others"]),
            "features": f"{extractors} extractors{trees}, of {resources} resources",
            "folds": f"{times}{plan['folds']} by {plan['by']}{outer}",
            "selection": ", ".join(plan["selectors"]),
            "learner": ", ".join(plan["learners"]),
            "search": f"{trials}; by {', '.join(plan['objective'])}",
        }


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
        first = learner.kind, _values(trial, learner, "learner")
        return Candidate(*first, selector.kind, _values(trial, selector, "selector"), self.clip)

    def distributions(self) -> dict[str, Distribution]:
        spaces = [(section, _space(section, "learner")) for section in self.learners]
        spaces += [(section, _space(section, "selector")) for section in self.selectors]
        return {f"{s.kind}.{name}": value for s, space in spaces for name, value in space.items()}

    @property
    def single(self) -> bool:
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


def _choose(
    trial: "optuna.trial.BaseTrial", strategy: Strategy, sections: Sequence[StrategySection]
) -> StrategySection:
    if len(sections) == 1:
        return sections[0]
    kind = trial.suggest_categorical(strategy, [section.kind for section in sections])
    return next(section for section in sections if section.kind == kind)


def _values(trial: "optuna.trial.BaseTrial", section: StrategySection, strategy: Strategy) -> dict[str, Any]:
    space = _space(section, strategy)
    drawn = {name: value.draw(trial, f"{section.kind}.{name}") for name, value in space.items()}
    return {**section.params, **nested(drawn)}


def _space(section: StrategySection, strategy: Strategy) -> dict[str, Distribution]:
    if section.space is not None:
        return parse_space(section.space, "learner.space" if strategy == "learner" else "selection.space")
    catalogue: Catalogue[Any] = LEARNERS if strategy == "learner" else SELECTORS
    default: dict[str, Distribution] = catalogue.get(section.kind).space
    return {name: value for name, value in default.items() if name not in section.params}
