"""Plan: a checked experiment, with what follows from its sections."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from features.basics.errors import InputError
from features.core.feature_set import expand, parts_needed, variant
from features.core.tree_columns import make_trees
from qe.config.distributions import Distribution
from qe.config.experiment import IN_MEMORY, Experiment, StrategySection
from qe.config.spaces import grid, parse_space
from qe.display.summary import entries, summarised
from qe.display.table import Table
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS


@summarised
@dataclass(frozen=True)
class Plan:
    """What `qe.training.check` has found right, and `prepare` works by.

    `str` of it is a short text.

    Attributes
    ----------
    left_out : tuple of str
        What the experiment asks for and is left out, a sentence each.
    """

    experiment: Experiment
    left_out: tuple[str, ...] = ()

    @cached_property
    def features(self) -> list[Mapping[str, Any]]:
        """The settings of every extractor, those of sets one by one."""
        return list(expand(self.experiment.features))

    @cached_property
    def parts(self) -> list[str]:
        """The resources that the features need."""
        return parts_needed(self.features)

    @property
    def programs(self) -> dict[str, str]:
        """Side of the corpus -> the annotator that the experiment names for it."""
        named = self.experiment.annotators.items()
        return {side: name for side, name in named if side != "pseudo_reference"}

    @cached_property
    def searched(self) -> dict[str, Distribution]:
        """Parameter, as the study names it -> where it is searched."""
        return searched(self.experiment)

    @property
    def trials(self) -> int:
        """How many candidates the search tries; 1 if there is nothing to search."""
        experiment = self.experiment
        if not self.searched and len(experiment.learner) == len(experiment.selection) == 1:
            return 1
        if experiment.search.sampler == "grid":
            return math.prod(len(values) for values in grid(self.searched).values())
        return experiment.search.most_trials

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        made, data = self.experiment, self.experiment.dataset
        return {
            "name": made.name,
            "dataset": "an object" if data.format == IN_MEMORY else f"{data.format} at {data.path}",
            "others": [f"{other.format} at {other.path}" for other in made.others],
            "extractors": [variant(config) for config in self.features],
            "trees": [tree.name for tree in make_trees(made.trees)],
            "resources": self.parts,
            "folds": made.split.folds,
            "by": made.split.by,
            "repeats": made.split.repeats,
            "outer": made.split.outer,
            "selectors": [each.kind for each in made.selection],
            "learners": [each.kind for each in made.learner],
            "searched": list(self.searched),
            "trials": self.trials,
            "objective": list(made.search.objective),
            "metric": made.evaluation.metric,
        }

    def summary(self) -> Table:
        """What would be run."""
        return entries("experiment", self.experiment.name, self._told().items())

    def __str__(self) -> str:
        lines = (f"  {name:<10}{text}" for name, text in self._told().items())
        return "\n".join([f"{self.experiment.name}: ok", *lines])

    def _told(self) -> dict[str, str]:
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


def searched(experiment: Experiment) -> dict[str, Distribution]:
    """Parameter -> where it is searched, of the strategies that can be made."""
    spaces: dict[str, Distribution] = {}
    known: tuple[tuple[Any, Sequence[StrategySection]], ...] = (
        (LEARNERS, experiment.learner),
        (SELECTORS, experiment.selection),
    )
    for catalogue, sections in known:
        for section in (each for each in sections if each.kind in catalogue):
            try:
                space = _space(section, catalogue.get(section.kind).space)
            except (InputError, ModuleNotFoundError):  # told of with the strategy
                continue
            spaces |= {f"{section.kind}.{name}": value for name, value in space.items()}
    return spaces


def _space(section: StrategySection, own: Mapping[str, Distribution]) -> dict[str, Distribution]:
    if section.space is None:
        return {name: value for name, value in own.items() if name not in section.params}
    return parse_space(section.space, "space")
