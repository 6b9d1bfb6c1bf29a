"""The Optuna study and its objective: candidates refitted inside every fold; resumable."""

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import optuna
import pandas as pd
from numpy.typing import NDArray
from optuna.exceptions import ExperimentalWarning
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.tree_columns import tree_names
from features.storage.damage import whole
from qe.config.distributions import Distribution
from qe.config.experiment import SearchSection, StrategySection
from qe.config.schema import MOST_SEED
from qe.config.spaces import draw, grid, nested, parse_space
from qe.data.dataset import LabelScale
from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS, NothingSelected, Selector
from qe.models.pipeline import Candidate, imputer, scaler
from qe.statistics.metric import METRICS
from qe.tracking.address import without_password
from qe.training.drawing import Drawing, drawing_of, ended
from qe.training.journal_lock import JournalLock

SEEDS = MOST_SEED + 1  # sums of seeds begin anew behind the largest
_ANEW = "start anew with --overwrite"
_SELECTIONS = 16  # fitted selectors that a fold keeps
_PREDICTIONS = 16  # trials whose predictions an objective keeps
Rows = NDArray[np.int64]
Predict = Callable[[pd.DataFrame], FloatArray]  # prepared features -> predictions


@dataclass(eq=False)
class FoldData:
    """One fold: features and labels of the training rows, features of the held-out rows.

    Imputing and scaling depend on no searched parameter, so they are fitted once per fold; a selector once
    for every choice of its own parameters. The last fitted candidate is kept, for whoever asks again.
    `training_rows` are the places of its training rows among the rows that a kernel's columns stand for.
    The last `others` training rows are of other datasets.
    """

    train: pd.DataFrame
    scores: FloatArray
    weights: FloatArray | None
    held_out: pd.DataFrame
    gold: FloatArray
    rows: Rows
    training_rows: Rows | None = None
    others: int = 0
    _selections: dict[str, Selector] = field(default_factory=dict, repr=False)
    _last: tuple[str, Predict] | None = field(default=None, init=False, repr=False)

    @cached_property
    def imputed(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self._transformed(imputer, self.train, self.held_out)

    @cached_property
    def scaled(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self._transformed(scaler, *self.imputed)

    def _transformed(
        self, step: Callable[[bool], Any], train: pd.DataFrame, held_out: pd.DataFrame
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        fitted = step(bool(tree_names(train))).fit(train)
        return fitted.transform(train), fitted.transform(held_out)

    def prepared(self, candidate: Candidate) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Features of the training rows and of the held-out rows as the candidate takes them."""
        if candidate.pairwise and self.training_rows is not None:
            return self.train.iloc[:, self.training_rows], self.held_out.iloc[:, self.training_rows]
        return self.scaled if candidate.scaled else self.imputed

    def _selection(self, candidate: Candidate, train: pd.DataFrame) -> Selector:
        """The candidate's selector, fitted; trials that differ in the learner alone share one."""
        key = repr((candidate.selector, sorted(candidate.selector_params.items())))
        if key not in self._selections:
            if len(self._selections) >= _SELECTIONS:
                self._selections.pop(next(iter(self._selections)))
            self._selections[key] = (
                candidate.selection().set_output(transform="pandas").fit(train, self.scores)
            )
        return self._selections[key]

    def fitted(self, candidate: Candidate, seed: int) -> Predict:
        """The candidate fitted on the training rows."""
        name, last = f"{_name(candidate)} {seed}", self._last
        if last is None or last[0] != name:
            last = self._last = (name, self._fit(candidate, seed))
        return last[1]

    def _fit(self, candidate: Candidate, seed: int) -> Predict:
        train, _ = self.prepared(candidate)

        def inputs(table: pd.DataFrame) -> Any:
            return table if candidate.takes_table else table.to_numpy()

        selection = None
        if candidate.selector != "none":
            selection = self._selection(candidate, train)
            train = selection.transform(train)
        estimator = candidate.estimator(seed)
        keywords = {} if self.weights is None else {"sample_weight": self.weights}
        estimator.fit(inputs(train), self.scores, **keywords)

        def predict(table: pd.DataFrame) -> FloatArray:
            chosen = table if selection is None else selection.transform(table)
            return np.asarray(estimator.predict(inputs(chosen)), np.float64)

        return predict

    def predict(self, candidate: Candidate, scale: LabelScale, seed: int) -> FloatArray:
        """Predictions for the held-out rows by the candidate fitted on the training rows, on the scale."""
        _, held_out = self.prepared(candidate)
        return scale.clip(self.fitted(candidate, seed)(held_out))


@dataclass(frozen=True)
class Space:
    """Everything a trial draws: which learner, its parameters, which selector, its parameters."""

    learners: Sequence[StrategySection]
    selectors: Sequence[StrategySection]

    def draw(self, trial: optuna.trial.BaseTrial) -> Candidate:
        """One candidate; a parameter `p` of learner `k` is named `k.p` in the study."""
        learner = _choose(trial, "learner", self.learners)
        selector = _choose(trial, "selector", self.selectors)
        return Candidate(
            learner.kind,
            {**learner.params, **_drawn(trial, learner, learner_space(learner))},
            selector.kind,
            {**selector.params, **_drawn(trial, selector, selector_space(selector))},
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
    """The space of a learner: the experiment's, else the learner's own without the fixed parameters."""
    return _space(section, LEARNERS.get(section.kind).space, "learner")


def selector_space(section: StrategySection) -> dict[str, Distribution]:
    """The space of a selector, likewise."""
    return _space(section, SELECTORS.get(section.kind).space, "selection")


def _space(
    section: StrategySection, default: Mapping[str, Distribution], where: str
) -> dict[str, Distribution]:
    if section.space is None:
        return {name: value for name, value in default.items() if name not in section.params}
    return parse_space(section.space, f"{where}.space")


def _choose(trial: optuna.trial.BaseTrial, what: str, sections: Sequence[StrategySection]) -> StrategySection:
    if len(sections) == 1:
        return sections[0]
    kind = trial.suggest_categorical(what, [section.kind for section in sections])
    return next(section for section in sections if section.kind == kind)


def _drawn(
    trial: optuna.trial.BaseTrial, section: StrategySection, space: Mapping[str, Distribution]
) -> dict[str, Any]:
    return nested({name: draw(trial, f"{section.kind}.{name}", value) for name, value in space.items()})


@dataclass(frozen=True)
class Objective:
    """Cross-validated metrics of a candidate: the mean over folds of each named metric."""

    folds: Sequence[FoldData]
    space: Space
    metrics: tuple[str, ...]
    scale: LabelScale
    seed: int
    threads: int = 0
    _kept: dict[str, "_Kept"] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, trial: optuna.Trial) -> float | tuple[float, ...]:
        started = time.perf_counter()
        candidate = self.space.draw(trial)
        try:
            predictions = self._predicted(candidate, trial)
        except NothingSelected as error:
            raise optuna.TrialPruned(str(error)) from None
        values = np.array([self._values(f, p) for f, p in zip(self.folds, predictions, strict=True)])
        trial.set_user_attr("candidate", candidate.settings())
        trial.set_user_attr("fold_values", {m: values[:, i].tolist() for i, m in enumerate(self.metrics)})
        trial.set_user_attr("seconds", round(time.perf_counter() - started, 4))
        mean = values.mean(axis=0)  # of (folds, metrics)
        self._keep(candidate, predictions, float(mean[0]))
        return float(mean[0]) if len(self.metrics) == 1 else tuple(float(v) for v in mean)

    def _predicted(self, candidate: Candidate, trial: optuna.Trial) -> list[FloatArray]:
        """Predictions for every fold, unless the study's pruner ends the trial before the last one."""
        if len(self.metrics) > 1 or isinstance(trial.study.pruner, optuna.pruners.NopPruner):
            return self.predictions(candidate)
        predictions = []
        for step, fold in enumerate(self.folds):
            predictions.append(fold.predict(candidate, self.scale, self.seed))
            trial.report(self._values(fold, predictions[-1])[0], step)
            if step < len(self.folds) - 1 and trial.should_prune():
                raise optuna.TrialPruned
        return predictions

    def predictions(self, candidate: Candidate) -> list[FloatArray]:
        """Predictions for the held-out rows of every fold; folds run side by side.

        Those of the best trials of this process are still there.
        """
        kept = self._kept.get(_name(candidate))
        if kept is not None:
            return kept.predictions
        workers = self.threads or min(len(self.folds), os.cpu_count() or 1)
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda fold: fold.predict(candidate, self.scale, self.seed), self.folds))

    def _keep(self, candidate: Candidate, predictions: list[FloatArray], value: float) -> None:
        self._kept[_name(candidate)] = _Kept(predictions, value)
        if len(self._kept) > _PREDICTIONS:
            sign = -1.0 if self.directions[0] == "maximize" else 1.0
            self._kept.pop(max(self._kept, key=lambda name: sign * self._kept[name].value))

    def _values(self, fold: FoldData, predicted: FloatArray) -> list[float]:
        sign = self.scale.sign
        return [METRICS.get(m)().score(sign * fold.gold, sign * predicted) for m in self.metrics]

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        return ["maximize" if METRICS.get(m).higher_is_better else "minimize" for m in self.metrics]


@dataclass(frozen=True, eq=False)
class _Kept:
    """What a candidate predicted for every fold, and its first metric."""

    predictions: list[FloatArray]
    value: float


def _name(candidate: Candidate) -> str:
    return json.dumps(candidate.settings(), sort_keys=True)


@dataclass(frozen=True, eq=False)
class Finished:
    """A trial that was just finished.

    number  its place among the finished trials of the search, from 1: what reports and plots call it
    best    the best one so far, itself included, over all restarts
    """

    number: int
    trial: FrozenTrial
    best: FrozenTrial

    @property
    def is_best(self) -> bool:
        """Whether no trial before it was as good."""
        ids = [(trial.number, trial.datetime_start) for trial in (self.trial, self.best)]
        return ids[0] == ids[1]


OnTrial = Callable[[Finished], None]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The chosen candidate and the whole study.

    reproducible  whether the seed alone gives the same study again, however often it was stopped
    """

    best: Candidate
    best_trial: FrozenTrial
    studies: tuple[optuna.Study, ...]
    metrics: tuple[str, ...]
    reproducible: bool = True

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials of all restarts."""
        return [trial for study in self.studies for trial in study.get_trials(deepcopy=False)]

    @property
    def finished(self) -> list[FrozenTrial]:
        """The finished trials, restart by restart: the order of `history`, of plots, and of their numbers."""
        return _finished(self.studies)

    @property
    def best_number(self) -> int:
        """The place of the best trial among the finished ones, from 1."""
        return _place(self.best_trial, self.finished)

    def count(self, state: TrialState) -> int:
        """How many trials ended so; those that a kill interrupted are failed, and count for nothing."""
        return sum(trial.state == state for trial in self.trials)

    def history(self) -> pd.DataFrame:
        """One row per finished trial: restart, number, values, parameters, seconds."""
        rows = [
            {
                "restart": restart,
                "trial": number,
                **dict(zip(self.metrics, trial.values, strict=True)),
                **trial.params,
                "seconds": trial.user_attrs.get("seconds"),
            }
            for number, (restart, trial) in enumerate(self._by_restart(), start=1)
        ]
        return pd.DataFrame(rows)

    def _by_restart(self) -> list[tuple[int, FrozenTrial]]:
        return [(n, trial) for n, study in enumerate(self.studies) for trial in _finished([study])]

    def front(self) -> list[dict[str, Any]]:
        """The trials that no other trial beats on every objective."""
        finished = self.finished
        return [
            {
                "trial": _place(t, finished),
                **dict(zip(self.metrics, t.values, strict=True)),
                "params": t.params,
            }
            for study in self.studies
            for t in study.best_trials
        ]


def run(
    objective: Objective,
    section: SearchSection,
    *,
    name: str = "study",
    storage: optuna.storages.BaseStorage | str | None = None,
    seed: int = 0,
    warm_start: Sequence[Mapping[str, Any]] = (),
    shared: bool = False,
    on_trial: OnTrial | None = None,
    progress: Progress = silent,
) -> SearchResult:
    """Searches until the study has `section.trials` finished trials; earlier ones of the study count.

    A study that was killed goes on as if it had not been: trials that were running are closed as failed, and
    the same parameters are drawn again. `warm_start` holds parameters (by their names in the study) to try
    before anything is drawn. On a `shared` storage other processes work on the same study: only trials whose
    process has fallen silent are closed, and what is drawn depends on who is faster. Restarts are studies of
    their own with other seeds.

    Raises InputError if no trial could be finished.
    """
    warnings.filterwarnings("ignore", category=ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    total = _trials(objective.space, section)
    restarts = 1 if objective.space.single else section.restarts
    studies, reproducible = [], True
    for restart in range(restarts):
        study = optuna.create_study(
            study_name=name if restart == 0 else f"{name}-restart-{restart}",
            storage=storage,
            directions=objective.directions,
            load_if_exists=True,
            pruner=_pruner(section),
        )
        if shared:
            optuna.storages.fail_stale_trials(study)
            for params in warm_start:
                study.enqueue_trial(dict(params), skip_if_exists=True)
            study.sampler = _sampler(objective.space, section, seed + 1000 * restart + len(study.trials))
            drawing, same = None, False
        else:
            _close_interrupted(study)
            first = [params for n, params in enumerate(warm_start) if params not in warm_start[:n]]
            base = seed + 1000 * restart + len(first)
            make = partial(_sampler_from, objective.space, section, base)
            drawing, same = drawing_of(study, make, objective.space.draw, first)
            study.sampler = optuna.samplers.RandomSampler(seed=0)  # the drawing leaves it nothing to draw
        reproducible &= same
        studies.append(study)
        _optimize(studies, objective, total, drawing, on_trial, progress)
    return _result(studies, objective, reproducible)


def _optimize(
    studies: Sequence[optuna.Study],
    objective: Objective,
    total: int,
    drawing: Drawing | None,
    on_trial: OnTrial | None,
    progress: Progress,
) -> None:
    """Runs trials of the last study until `total` are finished, those of other processes on it included.

    Without a `drawing` the study's own sampler draws.
    """
    study = studies[-1]

    def report(study: optuna.Study, trial: FrozenTrial) -> None:
        if on_trial and trial.state == TrialState.COMPLETE:
            on_trial(Finished(_place(trial, _finished(studies)), trial, _best(studies, objective)))
        progress(_stage(study, objective.metrics), len(ended(study)), total)

    def evaluate(parameters: dict[str, Any]) -> FrozenTrial:
        study.enqueue_trial(parameters)
        study.optimize(objective, n_trials=1, callbacks=[report])
        return ended(study)[-1]

    progress(_stage(study, objective.metrics), len(ended(study)), total)
    while len(ended(study)) < total:
        if drawing is None:
            study.optimize(objective, n_trials=1, callbacks=[report])
        else:
            drawing.once(evaluate)


def _result(studies: Sequence[optuna.Study], objective: Objective, reproducible: bool) -> SearchResult:
    """The best over all restarts."""
    if not all(_finished([study]) for study in studies):
        raise InputError("no trial of the search could be finished; see the messages above")
    best = _best(studies, objective)
    settings = best.user_attrs["candidate"]
    return SearchResult(Candidate(**settings), best, tuple(studies), objective.metrics, reproducible)


def _finished(studies: Sequence[optuna.Study]) -> list[FrozenTrial]:
    """The trials with values, study by study."""
    states = [TrialState.COMPLETE]
    return [trial for study in studies for trial in study.get_trials(deepcopy=False, states=states)]


def _place(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> int:
    """The place of a trial among several, from 1; numbers alone are those of one restart."""
    places = {(one.number, one.datetime_start): place for place, one in enumerate(trials, start=1)}
    return places[trial.number, trial.datetime_start]


def _best(studies: Sequence[optuna.Study], objective: Objective) -> FrozenTrial:
    """The best trial over all restarts."""
    sign = -1.0 if objective.directions[0] == "maximize" else 1.0
    candidates = [_best_trial(study) for study in studies if _finished([study])]
    return min(candidates, key=lambda trial: sign * trial.values[0])


def _best_trial(study: optuna.Study) -> FrozenTrial:
    """The best trial; of several objectives, the front's trial with the best mean rank over them."""
    if len(study.directions) == 1:
        return study.best_trial
    front = study.best_trials
    values = np.array([trial.values for trial in front])
    signs = np.array([-1.0 if d == optuna.study.StudyDirection.MAXIMIZE else 1.0 for d in study.directions])
    ranks = np.argsort(np.argsort(values * signs, axis=0), axis=0).mean(axis=1)
    return front[int(np.argmin(ranks))]


def _trials(space: Space, section: SearchSection) -> int:
    """How many trials the study is to have."""
    if space.single:
        return 1
    if section.sampler == "grid":
        return int(np.prod([len(values) for values in grid(space.distributions()).values()]))
    return section.trials


def _sampler(space: Space, section: SearchSection, seed: int) -> optuna.samplers.BaseSampler:
    if section.sampler == "grid":
        if len(space.learners) > 1 or len(space.selectors) > 1:
            raise InputError("a grid takes one learner and one selector", where="search.sampler")
        return optuna.samplers.GridSampler(grid(space.distributions()), seed=section.seed)
    if section.sampler == "random":
        return optuna.samplers.RandomSampler(seed=(section.seed + seed) % SEEDS)
    return optuna.samplers.TPESampler(seed=(section.seed + seed) % SEEDS)


def _sampler_from(space: Space, section: SearchSection, base: int, more: int) -> optuna.samplers.BaseSampler:
    return _sampler(space, section, base + more)


def _pruner(section: SearchSection) -> optuna.pruners.BasePruner:
    if section.pruner == "wilcoxon":
        return optuna.pruners.WilcoxonPruner(p_threshold=0.1)
    return optuna.pruners.MedianPruner() if section.pruner == "median" else optuna.pruners.NopPruner()


def _close_interrupted(study: optuna.Study) -> None:
    """Trials that a killed process left running, or had not begun, are closed; they do not count."""
    for _ in study.get_trials(deepcopy=False, states=[TrialState.WAITING]):
        study.ask()  # takes it out of the queue
    for trial in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
        study.tell(trial.number, state=TrialState.FAIL)


def _stage(study: optuna.Study, metrics: Sequence[str]) -> str:
    if not study.get_trials(deepcopy=False, states=[TrialState.COMPLETE]):
        return "search"
    best = _best_trial(study)
    return "search · best " + ", ".join(f"{m} {v:.4f}" for m, v in zip(metrics, best.values, strict=True))


def storage_at(address: str) -> optuna.storages.BaseStorage:
    """A storage that several processes may share: a database URL (PostgreSQL across machines), or a file.

    A database notices within two minutes that a process has fallen silent.

    Raises InputError if the database cannot be reached.
    """
    if "://" not in address:
        return journal(Path(address))
    try:
        return optuna.storages.RDBStorage(address, heartbeat_interval=30, grace_period=120)
    except Exception as error:
        raise InputError(
            f"cannot be used as study storage: {str(error).splitlines()[0]}",
            where=without_password(address),
            remedy="check the server and the URL (PostgreSQL needs the extra `mtqe[postgresql]`)",
        ) from None


def earlier_trials(path: Path, space: Space, best: int = 5) -> list[dict[str, Any]]:
    """The parameters of the best trials of an earlier run (its output folder) that this space knows.

    Raises InputError if there is no study.
    """
    file = path / "study.journal"
    if not file.is_file():
        raise InputError(
            "holds no study (study.journal)", where=path, remedy="name an output folder of qe train"
        )
    storage = journal(file)
    known = set(space.distributions()) | {"learner", "selector"}
    values = []
    with whole("the study", file, _ANEW):
        for name in optuna.get_all_study_names(storage):
            study = optuna.load_study(study_name=name, storage=storage)
            sign = -1.0 if study.directions[0] == optuna.study.StudyDirection.MAXIMIZE else 1.0
            trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
            values += [
                (sign * t.values[0], {k: v for k, v in t.params.items() if k in known}) for t in trials
            ]
        values.sort(key=lambda pair: pair[0])
    return [params for _, params in values[:best] if params]


def journal(path: Path) -> optuna.storages.BaseStorage:
    """A study file that survives a kill at any point, for one or several processes on one machine.

    Raises InputError for a damaged one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    backend = JournalFileBackend(str(path), JournalLock(str(path)))
    with whole("the study", path, _ANEW):
        return optuna.storages.JournalStorage(backend)
