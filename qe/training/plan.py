"""Plan: a checked experiment, with what follows from its sections, and its search space."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.core.configured import Configured
from features.core.extractor import TableColumns
from features.core.feature_set import table_columns, variant
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


@dataclass(frozen=True)
class Plan(Printable):
    """A checked experiment (`qe.training.check`); `str` of it is a short text.

    Attributes
    ----------
    families : sequence of Configured
        Classes and settings of the extractors, those of sets one by one.
    omitted : tuple of str
        Parts of the experiment that are left out, a sentence each.
    """

    experiment: Experiment
    families: Sequence[Configured]
    omitted: tuple[str, ...] = ()

    @property
    def features(self) -> list[Mapping[str, Any]]:
        """Settings of the extractors, those of sets one by one."""
        return [family.config for family in self.families]

    @cached_property
    def parts(self) -> list[str]:
        """The parts of resources that the extractors need."""
        return list(dict.fromkeys(part for family in self.families for part in family.parts()))

    @cached_property
    def table_columns(self) -> TableColumns:
        """The columns of the user's table that the extractors read by name."""
        return table_columns(family.unmade() for family in self.families)

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

    @cached_property
    def _choices(self) -> dict[str, list[tuple[StrategySection, dict[str, Distribution]]]]:
        """Learners and selectors, each with what is searched of it."""
        choices: dict[str, list[tuple[StrategySection, dict[str, Distribution]]]] = {}
        kinds: Sequence[tuple[str, Sequence[StrategySection], Catalogue[Any], str]] = (
            ("learner", self.learners, LEARNERS, "learner.space"),
            ("selector", self.selectors, SELECTORS, "selection.space"),
        )
        for name, sections, catalogue, place in kinds:
            choices[name] = []
            for section in sections:
                if section.space is not None:
                    space = parse_space(section.space, place)
                else:
                    default = catalogue.get(section.kind).space.items()
                    space = {key: value for key, value in default if key not in section.params}
                choices[name].append((section, space))
        return choices

    def draw(self, trial: "optuna.trial.BaseTrial") -> "Candidate":
        """One candidate; a parameter `p` of learner `k` is named `k.p` in the study."""
        from qe.models.pipeline import Candidate  # slow to import, and not needed to check a plan

        chosen = []
        for strategy, choices in self._choices.items():
            kinds = [section.kind for section, _ in choices]
            kind = trial.suggest_categorical(strategy, kinds) if len(kinds) > 1 else kinds[0]
            chosen.append(choices[kinds.index(kind)])
        settings = []
        for section, space in chosen:
            drawn = {name: value.draw(trial, f"{section.kind}.{name}") for name, value in space.items()}
            settings.append((section.kind, {**section.params, **nested(drawn)}))
        learner, selector = settings
        return Candidate(*learner, *selector, self.clip)

    def distributions(self) -> dict[str, Distribution]:
        """Everything that is searched: a parameter's name in the study -> its distribution."""
        spaces = [*self._choices["learner"], *self._choices["selector"]]
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
