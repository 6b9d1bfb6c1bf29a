"""Plan: a checked experiment, with what follows from its sections."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from features.core.feature_set import expand, parts_needed, variant
from features.core.tree_columns import make_trees
from qe.config.experiment import IN_MEMORY, Experiment
from qe.display.summary import entries, summarised
from qe.display.table import Table
from qe.training.space import Space


@summarised
@dataclass(frozen=True)
class Plan:
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
        """The resources that the features need."""
        return parts_needed(self.features)

    @property
    def programs(self) -> dict[str, str]:
        """Side of the corpus -> the annotator that the experiment names for it."""
        named = self.experiment.annotators.items()
        return {side: name for side, name in named if side != "pseudo_reference"}

    @property
    def space(self) -> Space:
        """The search space."""
        return Space(self.experiment.learner, self.experiment.selection)

    @property
    def trials(self) -> int:
        """How many candidates the search tries; 1 if there is nothing to search."""
        return self.space.most_trials(self.experiment.search)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        made, data = self.experiment, self.experiment.dataset
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
            "searched": list(self.space.distributions()),
            "trials": self.trials,
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
