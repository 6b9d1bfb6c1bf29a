"""The search: runs trials until a study has enough; resumable, shared if asked for."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import optuna
import pandas as pd
from optuna.trial import FrozenTrial, TrialState

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from qe.config.experiment import SearchSection
from qe.config.spaces import grid
from qe.display.numbers import number
from qe.models.pipeline import Candidate
from qe.statistics.metric import METRICS, title_of
from qe.training.budget import spent, spent_budget
from qe.training.drawing import drawing
from qe.training.failures import CandidateFailed
from qe.training.objective import FAILURE, Objective
from qe.training.space import Space
from qe.training.study import Identity, claim, ended, failed, finished, quiet

_DRAWN = "qe.drawn"  # attribute of a study: sampler and seeds of all its trials
_SEVERAL = "several"


@dataclass(frozen=True, eq=False)
class Finished:
    """A trial that was just finished.

    number  its place among the finished trials of the search, from 1: what reports and plots call it
    best    the best one so far, itself included
    """

    number: int
    trial: FrozenTrial
    best: FrozenTrial

    @property
    def is_best(self) -> bool:
        """Whether no trial before it was as good."""
        return self.trial.number == self.best.number


OnTrial = Callable[[Finished], None]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The chosen candidate and the whole study.

    reproducible  whether the seed alone gives the same study again, however often it was stopped
    note          what was lost of a study that a crash had damaged; empty if nothing was
    ended         why the search ended
    chosen        whether somebody chose the trial, and not the rule
    section       the settings with the budgets that were spent, which repeat the search
    """

    best: Candidate
    best_trial: FrozenTrial
    study: optuna.Study
    metrics: tuple[str, ...]
    reproducible: bool = True
    note: str = ""
    ended: str = ""
    chosen: bool = False
    section: SearchSection = field(default_factory=lambda: SearchSection.model_validate({}))

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials, those included that were interrupted."""
        return self.study.get_trials(deepcopy=False)

    @property
    def finished(self) -> list[FrozenTrial]:
        """The finished trials: the order of `history`, of plots, and of their numbers."""
        return finished(self.study)

    @property
    def best_number(self) -> int:
        """The place of the best trial among the finished ones, from 1."""
        return _place(self.best_trial, self.finished)

    @property
    def passed_over(self) -> int:
        """How many trials were ended because nothing was left to learn from."""
        return sum(trial.state == TrialState.PRUNED for trial in self.trials)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """What could not be computed: candidate, and why."""
        return [
            {"candidate": trial.user_attrs["candidate"], "reason": trial.user_attrs[FAILURE]}
            for trial in failed(self.study)
        ]

    def history(self) -> pd.DataFrame:
        """One row per finished trial: number, values, parameters, seconds."""
        rows = [
            {
                "trial": number,
                **dict(zip(self.metrics, trial.values, strict=True)),
                **trial.params,
                "seconds": trial.user_attrs.get("seconds"),
            }
            for number, trial in enumerate(self.finished, start=1)
        ]
        return pd.DataFrame(rows)

    def front(self) -> list[dict[str, Any]]:
        """The trials that no other trial beats on every objective."""
        trials = self.finished
        return [
            {
                "trial": _place(trial, trials),
                **dict(zip(self.metrics, trial.values, strict=True)),
                "params": trial.params,
            }
            for trial in self.study.best_trials
        ]


def run(
    objective: Objective,
    section: SearchSection,
    *,
    name: str = "study",
    storage: optuna.storages.BaseStorage | None = None,
    seed: int = 0,
    warm_start: Sequence[Mapping[str, Any]] = (),
    shared: bool = False,
    identity: Identity | None = None,
    location: object = None,
    chosen: int | None = None,
    on_trial: OnTrial | None = None,
    progress: Progress = silent,
) -> SearchResult:
    """Searches until a budget of the section is spent; earlier trials of the study count.

    A study that was killed goes on as if it had not been: trials that were running are closed as failed, and
    the same parameters are drawn again. `warm_start` holds parameters (by their names in the study) to try
    before anything is drawn. On a `shared` storage other processes work on the same study: only trials whose
    process has fallen silent are closed, and what is drawn depends on who is faster.

    identity  what the values of trials depend on; a study of another one is refused
    location     what messages call the storage
    chosen    the number of the trial to take, as reports number them; default: the best

    Raises InputError if the study belongs to another experiment, if more trials fail than `section.failures`
    allows, if no trial could be finished, or none has the number.
    """
    with quiet():
        study = _opened(objective, name, storage, identity, location)
        alike = _drawing(study, objective, section, seed, warm_start, shared=shared)
        over = _optimize(study, objective, section, on_trial, progress)
        # The end of a search by the clock depends on the machine.
        alike = alike and section.time is None
        result = _result(study, objective, alike, over, chosen)
        if alike:
            total = _trials(objective.space, section)
            section = spent_budget(ended(study), objective.sign, section, total)
        return replace(result, section=section)


def contribute(
    objective: Objective,
    section: SearchSection,
    *,
    name: str,
    storage: optuna.storages.BaseStorage,
    seed: int = 0,
    warm_start: Sequence[Mapping[str, Any]] = (),
    identity: Identity | None = None,
    location: object = None,
    progress: Progress = silent,
) -> Callable[[], list[Finished]]:
    """Adds trials to a study until enough are finished or begun.

    Other processes of the same run may do the same.

    What it returns tells, once all of them are over, the trials that have finished since.
    """
    with quiet():
        study = _opened(objective, name, storage, identity, location)
        before = {trial.number for trial in finished(study)}
        _drawing(study, objective, section, seed, warm_start, shared=True)
        _optimize(study, objective, section, None, progress, beside=True)
        return lambda: [each for each in _told(study, objective) if each.trial.number not in before]


def _told(study: optuna.Study, objective: Objective) -> list[Finished]:
    trials, told = finished(study), []
    for place, trial in enumerate(trials, start=1):
        best = min(trials[:place], key=lambda one: objective.sign * one.values[0])
        told.append(Finished(place, trial, best))
    return told


def _opened(
    objective: Objective,
    name: str,
    storage: optuna.storages.BaseStorage | None,
    identity: Identity | None,
    location: object,
) -> optuna.Study:
    study = optuna.create_study(
        study_name=name, storage=storage, directions=objective.directions, load_if_exists=True
    )
    if identity is not None:
        claim(study, identity, location)
    return study


def _drawing(
    study: optuna.Study,
    objective: Objective,
    section: SearchSection,
    seed: int,
    warm_start: Sequence[Mapping[str, Any]],
    *,
    shared: bool,
) -> bool:
    if shared:
        optuna.storages.fail_stale_trials(study)
    else:
        _close_interrupted(study)
    first = [params for n, params in enumerate(warm_start) if params not in warm_start[:n]]
    study.sampler = drawing(objective.space, section, seed, first, shared=shared)
    return _drawn_alike(study, _SEVERAL if shared else f"{section.sampler} {section.seed} {seed} {first}")


def _drawn_alike(study: optuna.Study, by: str) -> bool:
    known = study.user_attrs.get(_DRAWN, by)
    study.set_user_attr(_DRAWN, by if known == by else _SEVERAL)
    return bool(known == by != _SEVERAL)


def _optimize(
    study: optuna.Study,
    objective: Objective,
    section: SearchSection,
    on_trial: OnTrial | None,
    progress: Progress,
    beside: bool = False,
) -> str:
    total = _trials(objective.space, section)

    def report(study: optuna.Study, trial: FrozenTrial) -> None:
        best = _best(study, objective)
        if on_trial and best is not None and trial.state == TrialState.COMPLETE:
            on_trial(Finished(_place(trial, finished(study)), trial, best))
        progress(_stage(study, objective), len(ended(study)), total)

    progress(_stage(study, objective), len(ended(study)), total)
    while not (over := spent(ended(study), _best(study, objective), section, total)):
        if beside and len(ended(study)) + len(_running(study)) >= total:
            return ""
        study.optimize(objective, n_trials=1, callbacks=[report], catch=(CandidateFailed,))
        _check_failures(study, section.failures, total)
    return over


def _check_failures(study: optuna.Study, share: float, total: int) -> None:
    failures = failed(study)
    if len(failures) > share * total:
        reasons = dict.fromkeys(trial.user_attrs[FAILURE] for trial in failures)
        told = "".join(f"\n  {reason}" for reason in list(reasons)[:5])
        raise InputError(
            f"{len(failures)} of {total} trials failed; search.failures = {share:g} allows fewer:{told}\n",
            location="search",
            remedy="narrow the search spaces, or allow more failures",
        )


def _result(
    study: optuna.Study, objective: Objective, reproducible: bool, over: str, chosen: int | None
) -> SearchResult:
    best = _best(study, objective)
    if best is None:
        raise InputError(
            "no trial of the search could be finished: nothing was left to learn from, or all failed",
            location="search",
            remedy="give the search more trials, or widen its spaces",
        )
    taken = best if chosen is None else _numbered(study, chosen)
    settings, own = taken.user_attrs["candidate"], chosen is not None
    return SearchResult(
        Candidate(**settings), taken, study, objective.metrics, reproducible, ended=over, chosen=own
    )


def _numbered(study: optuna.Study, number: int) -> FrozenTrial:
    trials = finished(study)
    if not 1 <= number <= len(trials):
        raise InputError(
            f"there is no trial {number}", location="--trial", remedy=f"give one of 1 to {len(trials)}"
        )
    return trials[number - 1]


def _place(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> int:
    return 1 + [one.number for one in trials].index(trial.number)


def _best(study: optuna.Study, objective: Objective) -> FrozenTrial | None:
    return min(finished(study), key=lambda trial: objective.sign * trial.values[0], default=None)


def _trials(space: Space, section: SearchSection) -> int:
    if space.single:
        return 1
    if section.sampler == "grid":
        if len(space.learners) > 1 or len(space.selectors) > 1:
            raise InputError("a grid takes one learner and one selector", location="search.sampler")
        return math.prod(len(values) for values in grid(space.distributions()).values())
    return section.most_trials


def _close_interrupted(study: optuna.Study) -> None:
    for trial in _running(study):
        study.tell(trial.number, state=TrialState.FAIL)


def _running(study: optuna.Study) -> list[FrozenTrial]:
    trials: list[FrozenTrial] = study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
    return trials


def _stage(study: optuna.Study, objective: Objective) -> str:
    best = _best(study, objective)
    if best is None:
        return "trials"
    values = zip(objective.metrics, best.values, strict=True)
    return "trials · best " + ", ".join(
        f"{title_of(metric)} {number(value, METRICS.get(metric).digits + 1)}" for metric, value in values
    )
