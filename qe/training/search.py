"""The search: runs trials until a budget is spent; resumable, and shared by several processes."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from numpy.typing import NDArray
from optuna.trial import FixedTrial, FrozenTrial, TrialState

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.basics.threads import THREADS, cores
from features.basics.workers import WorkerPool
from features.storage.files import digest
from features.storage.surroundings import restored
from qe.config.experiment import SearchSection, StrategySection
from qe.data.dataset import Dataset
from qe.display.numbers import number
from qe.evaluation.coverage import BadLabels
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS
from qe.models.pipeline import Candidate
from qe.statistics.metric import METRICS, title_of
from qe.training import study as studies
from qe.training.objective import CandidateFailed, FoldData, Objective
from qe.training.plan import Plan, Space
from qe.training.preparation import SETTINGS, Prepared, feature_tables, prepare
from qe.training.reading import folds_of

_DRAWN = "qe.drawn"  # attribute of a study: sampler and seeds of all its trials
_SEVERAL = "several"


@dataclass(frozen=True, eq=False)
class Finished:
    """A trial that has just finished, its number in reports (from 1), and the best one so far."""

    number: int
    trial: FrozenTrial
    best: FrozenTrial


OnTrial = Callable[[Finished], None]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The chosen candidate and the whole study.

    reproducible  whether the seed alone gives the same study again, however often it was stopped
    note          what was lost of a study that a crash had damaged; empty if nothing was
    section       the settings with the budgets that were spent, which repeat the search
    """

    best: Candidate
    best_trial: FrozenTrial
    study: optuna.Study
    objective: Objective
    reproducible: bool = True
    note: str = ""
    ended: str = ""
    by_user: bool = False
    section: SearchSection = field(default_factory=lambda: SearchSection.model_validate({}))

    @property
    def trials(self) -> list[FrozenTrial]:
        return self.study.get_trials(deepcopy=False)

    @property
    def finished(self) -> list[FrozenTrial]:
        """The finished trials, in the order of `history`, of plots, and of their numbers."""
        return studies.ended(self.study, TrialState.COMPLETE)

    @property
    def best_number(self) -> int:
        return _place(self.best_trial, self.finished)

    def ended_early(self, *, by_pruner: bool) -> int:
        """How many trials the pruner ended, or ended because no feature was left to learn from."""
        states = [t for t in self.trials if t.state == TrialState.PRUNED]
        return sum((studies.FOLDS_BEFORE_PRUNING in t.user_attrs) == by_pruner for t in states)

    @property
    def failures(self) -> list[dict[str, Any]]:
        return [
            {"candidate": trial.user_attrs["candidate"], "reason": trial.user_attrs[studies.FAILURE]}
            for trial in studies.ended(self.study, TrialState.FAIL)
        ]

    def history(self) -> pd.DataFrame:
        rows = [
            {
                "trial": place,
                **dict(zip(self.objective.metrics, trial.values, strict=True)),
                **trial.params,
                "seconds": trial.user_attrs.get("seconds"),
            }
            for place, trial in enumerate(self.finished, start=1)
        ]
        return pd.DataFrame(rows)

    def front(self) -> list[dict[str, Any]]:
        return [
            {
                "trial": _place(trial, self.finished),
                **dict(zip(self.objective.metrics, trial.values, strict=True)),
                "params": trial.params,
            }
            for trial in self.study.best_trials
        ]


@dataclass(eq=False)
class Search:
    """A study that tries candidates until a budget of its section is spent; earlier trials count.

    A study that was killed continues as if it had not been: running trials are closed as failed, and the same
    parameters are drawn again. On a `shared` storage what is drawn depends on which process is faster.

    warm_start  parameters (by their names in the study) to try before anything is drawn
    identity    what the values of trials depend on; a study of another one is refused
    """

    objective: Objective
    section: SearchSection
    name: str = "study"
    storage: optuna.storages.BaseStorage | None = None
    seed: int = 0
    warm_start: Sequence[Mapping[str, Any]] = ()
    shared: bool = False
    identity: studies.Identity | None = None
    location: object = None

    @cached_property
    def study(self) -> optuna.Study:
        study = optuna.create_study(
            study_name=self.name, storage=self.storage, directions=self.objective.directions,
            load_if_exists=True,
        )  # fmt: skip
        if self.identity is not None:
            studies.claim(study, self.identity, self.location)
        return study

    def best(self, trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
        return min(trials, key=self._loss, default=None)

    def _loss(self, trial: FrozenTrial) -> float:
        return self.objective.sign * float(trial.values[0])

    def result(
        self, trial_number: int | None = None, on_trial: OnTrial | None = None, progress: Progress = silent
    ) -> SearchResult:
        """Searches until a budget is spent; `trial_number` chooses another trial than the best."""
        with studies.quiet():
            alike = self._prepare_drawing()
            total = self.objective.space.most_trials(self.section)
            reason = self._optimize(total, on_trial, progress)
            # The end of a search by the clock depends on the machine.
            reproducible, section = alike and self.section.time is None, self.section
            trials = studies.ended(self.study, TrialState.COMPLETE)
            trial = self.best(trials)
            if trial is None:
                raise InputError(
                    "no trial of the search could be finished: nothing was left to learn from, or all failed",
                    location="search",
                    remedy="give the search more trials, or widen its spaces",
                )
            if trial_number is not None:
                if not 1 <= trial_number <= len(trials):
                    raise InputError(
                        f"there is no trial {trial_number}",
                        location="--trial",
                        remedy=f"give one of 1 to {len(trials)}",
                    )
                trial = trials[trial_number - 1]
            if reproducible:
                ended, sign = studies.ended(self.study), self.objective.sign
                # If the search was resumed with smaller budgets, the section has those that were spent.
                if any(studies.spent(ended[:n], sign, section, total) for n in range(1, len(ended))):
                    section = section.model_copy(update={"trials": len(ended), "without_gain": None})
        best = Candidate(**trial.user_attrs["candidate"])
        return SearchResult(
            best, trial, self.study, self.objective, reproducible, ended=reason,
            by_user=trial_number is not None, section=section,
        )  # fmt: skip

    def add_trials(self, progress: Progress = silent) -> None:
        with studies.quiet():
            self._prepare_drawing()
            self._optimize(self.objective.space.most_trials(self.section), None, progress, helping=True)

    def finished(self) -> list[Finished]:
        with studies.quiet():
            trials = studies.ended(self.study, TrialState.COMPLETE)
        best = list(accumulate(trials, lambda *pair: min(pair, key=self._loss)))
        return [Finished(n, *pair) for n, pair in enumerate(zip(trials, best, strict=True), start=1)]

    def _prepare_drawing(self) -> bool:
        if self.shared:
            optuna.storages.fail_stale_trials(self.study)
        else:
            for trial in studies.running(self.study):
                self.study.tell(trial.number, state=TrialState.FAIL)
        first = [params for n, params in enumerate(self.warm_start) if params not in self.warm_start[:n]]
        section, space = self.section, self.objective.space
        self.study.sampler = studies.Drawing(space, section, self.seed, first, shared=self.shared)
        self.study.pruner = studies.pruner_of(section)
        own = [section.sampler_params, section.pruner, section.pruner_params]
        classes = f" {own}" if any(own) else ""
        drawn = f"{section.sampler} {section.seed}{classes} {self.seed} {first}"
        key = _SEVERAL if self.shared else drawn
        previous = self.study.user_attrs.get(_DRAWN, key)
        self.study.set_user_attr(_DRAWN, key if previous == key else _SEVERAL)
        return bool(previous == key != _SEVERAL)

    def _optimize(
        self, total: int, on_trial: OnTrial | None, progress: Progress, helping: bool = False
    ) -> str:
        study = self.study

        def report(study: optuna.Study, trial: FrozenTrial | None) -> None:
            trials = studies.ended(study, TrialState.COMPLETE)
            best, stage = self.best(trials), "trials"
            if on_trial and best is not None and trial and trial.state == TrialState.COMPLETE:
                on_trial(Finished(_place(trial, trials), trial, best))
            if best is not None:
                pairs = zip(self.objective.metrics, best.values, strict=True)
                figures = (f"{title_of(m)} {number(v, METRICS.get(m).digits + 1)}" for m, v in pairs)
                stage = f"trials · best {', '.join(figures)}"
            progress(stage, len(studies.ended(study)), total)

        report(study, None)
        sign, section = self.objective.sign, self.section
        while not (reason := studies.spent(studies.ended(study), sign, section, total)):
            if helping and len(studies.ended(study)) + len(studies.running(study)) >= total:
                return ""
            study.optimize(self.objective, n_trials=1, callbacks=[report], catch=(CandidateFailed,))
            failures = studies.ended(study, TrialState.FAIL)
            if len(failures) > section.failures * total:
                reasons = list(dict.fromkeys(trial.user_attrs[studies.FAILURE] for trial in failures))
                listed = "".join(f"\n  {text}" for text in reasons[:5])
                raise InputError(
                    f"{len(failures)} of {total} trials failed; search.failures = "
                    f"{section.failures:g} allows fewer:{listed}\n",
                    location="search",
                    remedy="narrow the search spaces, or allow more failures",
                )
        return reason


def _place(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> int:
    return 1 + [each.number for each in trials].index(trial.number)


@dataclass(frozen=True, eq=False)
class Helpers:
    """The processes of a run that search together, this one included; they share the cores."""

    plan: Plan
    dataset: Dataset | None
    cache: Path
    workers: int

    @contextmanager
    def working_on(self, address: str) -> Iterator[None]:
        """The other processes add trials to the study at an address; afterwards, all have ended."""
        with restored(THREADS):
            os.environ[THREADS] = str(max(1, cores() // self.workers))
            with WorkerPool(self.workers - 1, _begin, ()) as pool:
                arguments = (self.plan, self.dataset, self.cache, address)
                helpers = [pool.submit(_help, *arguments) for _ in range(self.workers - 1)]
                yield
                for helper in helpers:
                    helper.result()


def _begin() -> None:
    pass


def _help(plan: Plan, dataset: Dataset | None, cache: Path, address: str) -> None:
    prepared = prepare(plan, cache, calibrating=True, dataset=dataset)
    _search_of(prepared, feature_tables(prepared), address, shared=True).add_trials()


def search_candidates(
    prepared: Prepared,
    folds: Sequence[FoldData],
    *,
    journal: Path | None = None,
    shared: bool = False,
    trial_number: int | None = None,
    on_trial: OnTrial | None = None,
    helpers: Helpers | None = None,
    progress: Progress = silent,
) -> SearchResult:
    """Searches the experiment's space on its folds; `journal` is where a killed search continues from."""
    storage = prepared.experiment.search.storage if shared else None
    address = storage or (None if journal is None else str(journal))
    note = studies.mended(address) if address else ""
    search = _search_of(prepared, folds, address, shared=storage is not None)
    if helpers is not None and address is not None and not search.objective.space.single:
        before = {each.trial.number for each in search.finished()}
        with helpers.working_on(address):
            replace(search, storage=studies.storage_at(address), shared=True).add_trials(progress)
        search = replace(search, storage=studies.storage_at(address))
        for each in search.finished():
            if on_trial is not None and each.trial.number not in before:
                on_trial(each)
    return replace(search.result(trial_number, on_trial, progress), note=note)


def _search_of(prepared: Prepared, folds: Sequence[FoldData], address: str | None, *, shared: bool) -> Search:
    experiment, objective = prepared.experiment, objective_of(prepared, folds)
    space = objective.space
    return Search(
        objective,
        experiment.search,
        experiment.name,
        None if address is None else studies.storage_at(address),
        experiment.seed,
        [p for path in experiment.search.warm_start for p in studies.earlier_trials(path, space)],
        shared,
        identity(prepared, space),
        address,
    )


def identity(prepared: Prepared, space: Space) -> studies.Identity:
    """Part -> description and fingerprint; experiments whose parts are equal may share a study."""
    experiment, training = prepared.experiment, prepared.training
    feature_set, settings = prepared.extraction.feature_set, experiment.settings()
    others = [each.fingerprint for each in prepared.auxiliaries]
    data = digest(prepared.dataset.scale, training.fingerprint, *others)
    held_out = [rows for repeat in prepared.repeats for _, rows in repeat]
    folds = digest(settings["split"], *(rows.tobytes() for rows in held_out))
    strategies = (*space.learners, *space.selectors)
    kinds = [section.kind for section in strategies if section.kind != "none"]
    fixed = [(section.kind, sorted(section.params.items())) for section in strategies]
    return {
        "data": f"{len(training)} rows of {prepared.dataset.name} ({data})",
        "label": prepared.dataset.scale.name,
        "folds": f"{len(held_out)} ({folds})",
        "features": f"{len(feature_set.names)} ({feature_set.fingerprint})",
        "space": f"{', '.join(kinds)} ({digest(fixed, sorted(space.distributions().items()))})",
        "metric": ", ".join(experiment.search.objective),
        "settings": ", ".join(f"{key} {settings[key]}" for key in SETTINGS),
    }


def best_candidate(prepared: Prepared, progress: Progress = silent) -> tuple[Candidate, Objective]:
    """The candidate that the study chooses; with nothing to search nothing is fitted, and folds are empty."""
    objective = objective_of(prepared, [])
    if objective.space.single:
        return objective.space.draw(FixedTrial({})), objective
    result = search_candidates(prepared, feature_tables(prepared), progress=progress)
    return result.best, result.objective


def nested_predictions(prepared: Prepared, progress: Progress = silent) -> FloatArray | None:
    """(n,) predictions of the whole procedure, search included, by outer folds, if there are any."""
    experiment, training, dataset = prepared.experiment, prepared.training, prepared.dataset
    if experiment.split.outer is None:
        return None
    predictions = np.full(len(training), np.nan)
    outer = folds_of(training, experiment, experiment.split.outer)
    tables = prepared.folds_of(outer)
    for done, ((train_rows, held_out), table) in enumerate(zip(outer, tables, strict=True)):
        progress("nested cross-validation", done, len(outer))
        fitting = training.take(train_rows)
        inner = [
            prepared.fold_data(fitting, rows, rest, table.inner(rows, rest), train_rows[rows])
            for rows, rest in folds_of(fitting, experiment, experiment.split.folds)
        ]
        best = Search(objective_of(prepared, inner), experiment.search, seed=experiment.seed).result().best
        fold = prepared.fold_data(training, train_rows, held_out, table)
        predictions[held_out] = fold.predict(best, dataset.scale, experiment.seed)
    return predictions


def gathered(folds: Sequence[FoldData], predictions: Sequence[FloatArray], k: int) -> FloatArray:
    """(repeats, n) out-of-fold predictions of the training rows, from those of `k` folds per repeat."""
    n = sum(len(fold.rows) for fold in folds[:k])
    rows: NDArray[np.float64] = np.full((len(folds) // k, n), np.nan)
    for i, (fold, predicted) in enumerate(zip(folds, predictions, strict=True)):
        rows[i // k, fold.rows] = predicted
    return rows


def objective_of(prepared: Prepared, folds: Sequence[FoldData]) -> Objective:
    experiment, scale = prepared.experiment, prepared.dataset.scale
    for metric in (*experiment.search.objective, experiment.evaluation.metric):
        if METRICS.get(metric).kind == "classes" and scale.classes is None:
            raise InputError(
                f"{metric} is for labels of two classes, but `{scale.name}` is a number",
                remedy="choose another metric, or name the classes: dataset.label.classes: [OK, BAD]",
            )
    if (bad := experiment.evaluation.bad) is not None:
        BadLabels.parse(bad).check(scale)

    def directed(section: StrategySection, constructor: Callable[..., Any]) -> StrategySection:
        if scale.higher_is_better or "label_sign" not in constructor().get_params():
            return section
        return section.model_copy(update={"params": {"label_sign": scale.sign, **section.params}})

    space = Space(
        [directed(section, LEARNERS.get(section.kind)().estimator) for section in experiment.learner],
        [directed(section, SELECTORS.get(section.kind)) for section in experiment.selection],
        experiment.clip,
    )
    return Objective(folds, space, experiment.search.objective, scale, experiment.seed)
