"""Drawing: the parameters that a trial tries; its number in the search gives its seed.

So a search that was stopped goes on as if it had not been, and processes that share a study draw apart,
though they have one seed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from qe.config.experiment import SearchSection
from qe.config.spaces import grid
from qe.training.space import Space
from qe.training.study import ended

Parameters = Mapping[str, Any]


class Drawing(BaseSampler):
    """A sampler that is made anew, with another seed, for every trial.

    make    place of a trial -> the sampler that draws it
    first   what the first trials are given
    shared  whether other processes work on the study: places are then numbers of trials, which no two share;
            else they count the trials that ended, so that those that a kill cut off leave no gap
    """

    def __init__(
        self, make: Callable[[int], BaseSampler], first: Sequence[Parameters], *, shared: bool
    ) -> None:
        self._make, self._first, self._shared = make, first, shared
        self._given: Parameters = {}
        self._sampler = make(0)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        place = trial.number if self._shared else len(ended(study))
        self._given = self._first[place] if place < len(self._first) else {}
        self._sampler = self._make(place)
        self._sampler.before_trial(study, trial)

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return {} if self._given else self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {} if self._given else self._sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        given = self._given.get(param_name)
        if given is not None and _allows(param_distribution, given):
            return given
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)


class _Grid(BaseSampler):
    def __init__(self, values: Mapping[str, Sequence[Any]], order: int, place: int) -> None:
        self._values, self._order, self._place = values, order, place
        self._point: Parameters = {}

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        running = study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
        taken = [t.params for t in (*ended(study), *running) if t.number != trial.number]
        points = _points(self._values, self._order)
        left = [point for point in points if point not in taken] or points
        self._point = left[self._place % len(left)]

    def infer_relative_search_space(self, *_: Any) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(self, *_: Any) -> dict[str, Any]:
        return {}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._point[param_name]


def _points(values: Mapping[str, Sequence[Any]], order: int) -> list[Parameters]:
    sizes = [len(choices) for choices in values.values()]
    shuffled = np.random.default_rng(order).permutation(int(np.prod(sizes)))
    places = zip(*np.unravel_index(shuffled, sizes), strict=True) if sizes else [()]
    return [
        {name: choices[i] for (name, choices), i in zip(values.items(), point, strict=True)}
        for point in places
    ]


def drawing(
    space: Space, section: SearchSection, seed: int, first: Sequence[Parameters], *, shared: bool
) -> Drawing:
    """The way an experiment with this seed draws parameters.

    The parameters in `first` are tried before anything is drawn.
    """
    if section.sampler == "grid":
        values = grid(space.distributions())
        return Drawing(lambda place: _Grid(values, section.seed, place), first, shared=shared)
    kind: Callable[..., BaseSampler] = {
        "tpe": optuna.samplers.TPESampler,
        "random": optuna.samplers.RandomSampler,
    }[section.sampler]
    return Drawing(lambda place: kind(seed=_seed(seed, section.seed, place)), first, shared=shared)


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def _allows(distribution: BaseDistribution, value: Any) -> bool:
    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    return bool(distribution.low <= value <= distribution.high)  # type: ignore[attr-defined]
