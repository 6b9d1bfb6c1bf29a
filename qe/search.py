"""The Optuna study and its objective: candidates refitted inside every fold; resumable."""

import os
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.trial import FrozenTrial, TrialState

from features.core.errors import InputError
from features.core.progress import Progress, silent
from qe.dataset import LabelScale
from qe.experiment import SearchSection, StrategySection
from qe.learners._base import LEARNERS
from qe.metrics._base import METRICS
from qe.pipeline import Candidate, imputer, scaler
from qe.selection._base import SELECTORS, NothingSelected
from qe.spaces import draw, grid, nested, parse_space

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(eq=False)
class FoldData:
    """One fold: features and labels of the training rows, features of the held-out rows.

    Imputing and scaling depend on no searched parameter, so they are fitted once per fold.
    """

    train: pd.DataFrame
    scores: FloatArray
    weights: FloatArray | None
    held_out: pd.DataFrame
    gold: FloatArray
    rows: Rows

    @cached_property
    def imputed(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        step = imputer().fit(self.train)
        return step.transform(self.train), step.transform(self.held_out)

    @cached_property
    def scaled(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        train, held_out = self.imputed
        step = scaler().fit(train)
        return step.transform(train), step.transform(held_out)

    def fitted(self, candidate: Candidate, seed: int) -> Callable[[pd.DataFrame], FloatArray]:
        """The candidate fitted on the training rows: prepared features -> predictions."""
        train, _ = self.scaled if candidate.scaled else self.imputed
        selection = None
        if candidate.selector != "none":
            selection = candidate.selection().set_output(transform="pandas").fit(train, self.scores)
            train = selection.transform(train)
        estimator = candidate.estimator(seed)
        keywords = {} if self.weights is None else {"sample_weight": self.weights}
        estimator.fit(train.to_numpy(), self.scores, **keywords)

        def predict(table: pd.DataFrame) -> FloatArray:
            chosen = table if selection is None else selection.transform(table)
            return np.asarray(estimator.predict(chosen.to_numpy()), np.float64)

        return predict

    def predict(self, candidate: Candidate, scale: LabelScale, seed: int) -> FloatArray:
        """Predictions for the held-out rows by the candidate fitted on the training rows, on the scale."""
        _, held_out = self.scaled if candidate.scaled else self.imputed
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

    def distributions(self) -> dict[str, BaseDistribution]:
        """All parameters by their names in the study."""
        found: dict[str, BaseDistribution] = {}
        for section, space in (
            *((s, learner_space(s)) for s in self.learners),
            *((s, selector_space(s)) for s in self.selectors),
        ):
            found |= {f"{section.kind}.{name}": value for name, value in space.items()}
        return found

    @property
    def single(self) -> bool:
        """Whether there is nothing to search."""
        return not self.distributions() and len(self.learners) == len(self.selectors) == 1


def learner_space(section: StrategySection) -> dict[str, BaseDistribution]:
    """The space of a learner: the experiment's, else the learner's own without the fixed parameters."""
    return _space(section, LEARNERS.get(section.kind).space, "learner")


def selector_space(section: StrategySection) -> dict[str, BaseDistribution]:
    """The space of a selector, likewise."""
    return _space(section, SELECTORS.get(section.kind).space, "selection")


def _space(
    section: StrategySection, default: Mapping[str, BaseDistribution], where: str
) -> dict[str, BaseDistribution]:
    if section.space is None:
        return {name: value for name, value in default.items() if name not in section.params}
    return parse_space(section.space, f"{where}.space")


def _choose(trial: optuna.trial.BaseTrial, what: str, sections: Sequence[StrategySection]) -> StrategySection:
    if len(sections) == 1:
        return sections[0]
    kind = trial.suggest_categorical(what, [section.kind for section in sections])
    return next(section for section in sections if section.kind == kind)


def _drawn(
    trial: optuna.trial.BaseTrial, section: StrategySection, space: Mapping[str, BaseDistribution]
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

    def __call__(self, trial: optuna.Trial) -> float | tuple[float, ...]:
        started = time.perf_counter()
        candidate = self.space.draw(trial)
        try:
            values = np.array(self._fold_values(candidate, trial))  # (folds, metrics)
        except NothingSelected as error:
            raise optuna.TrialPruned(str(error)) from None
        trial.set_user_attr("candidate", candidate.settings())
        trial.set_user_attr("fold_values", {m: values[:, i].tolist() for i, m in enumerate(self.metrics)})
        trial.set_user_attr("seconds", round(time.perf_counter() - started, 4))
        mean = values.mean(axis=0)
        return float(mean[0]) if len(self.metrics) == 1 else tuple(float(v) for v in mean)

    def _fold_values(self, candidate: Candidate, trial: optuna.Trial) -> list[list[float]]:
        prunable = len(self.metrics) == 1 and not isinstance(trial.study.pruner, optuna.pruners.NopPruner)
        if not prunable:
            predictions = self.predictions(candidate)
            return [self._values(f, p) for f, p in zip(self.folds, predictions, strict=True)]
        values = []
        for step, fold in enumerate(self.folds):
            values.append(self._values(fold, fold.predict(candidate, self.scale, self.seed)))
            trial.report(values[-1][0], step)
            if step < len(self.folds) - 1 and trial.should_prune():
                raise optuna.TrialPruned
        return values

    def predictions(self, candidate: Candidate) -> list[FloatArray]:
        """Predictions for the held-out rows of every fold; folds run side by side."""
        workers = self.threads or min(len(self.folds), os.cpu_count() or 1)
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda fold: fold.predict(candidate, self.scale, self.seed), self.folds))

    def _values(self, fold: FoldData, predicted: FloatArray) -> list[float]:
        sign = self.scale.sign
        return [METRICS.get(m)().score(sign * fold.gold, sign * predicted) for m in self.metrics]

    @property
    def directions(self) -> list[str]:
        return ["maximize" if METRICS.get(m).higher_is_better else "minimize" for m in self.metrics]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The chosen candidate and the whole study."""

    best: Candidate
    best_trial: FrozenTrial
    studies: tuple[optuna.Study, ...]
    metrics: tuple[str, ...]

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials of all restarts."""
        return [trial for study in self.studies for trial in study.get_trials(deepcopy=False)]

    def history(self) -> pd.DataFrame:
        """One row per finished trial: restart, number, values, parameters, seconds."""
        rows = [
            {
                "restart": restart,
                "trial": trial.number,
                **dict(zip(self.metrics, trial.values, strict=True)),
                **trial.params,
                "seconds": trial.user_attrs.get("seconds"),
            }
            for restart, study in enumerate(self.studies)
            for trial in study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
        ]
        return pd.DataFrame(rows)

    def front(self) -> list[dict[str, Any]]:
        """The trials that no other trial beats on every objective."""
        return [
            {"trial": t.number, **dict(zip(self.metrics, t.values, strict=True)), "params": t.params}
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
    on_trial: Callable[[optuna.Study, FrozenTrial], None] | None = None,
    progress: Progress = silent,
) -> SearchResult:
    """Searches until the study has `section.trials` finished trials; earlier ones of the study count.

    A study that was killed goes on: trials that were running are closed as failed and their parameters
    tried again first. `warm_start` holds parameters (by their names in the study) to try before anything is
    drawn. On a `shared` storage other processes work on the same study: only trials whose process has
    fallen silent are closed. Restarts are studies of their own with other seeds.

    Raises InputError where no trial could be finished.
    """
    warnings.filterwarnings("ignore", category=ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    total = _trials(objective.space, section)
    restarts = 1 if objective.space.single else section.restarts
    studies = []
    for restart in range(restarts):
        study = optuna.create_study(
            study_name=name if restart == 0 else f"{name}-restart-{restart}",
            storage=storage,
            directions=objective.directions,
            load_if_exists=True,
            pruner=_pruner(section),
        )
        _close_interrupted(study, shared)
        for params in warm_start:
            study.enqueue_trial(dict(params), skip_if_exists=True)
        study.sampler = _sampler(objective.space, section, seed + 1000 * restart + len(study.trials))
        _optimize(study, objective, total, on_trial, progress)
        studies.append(study)
    return _result(studies, objective)


def _optimize(
    study: optuna.Study,
    objective: Objective,
    total: int,
    on_trial: Callable[[optuna.Study, FrozenTrial], None] | None,
    progress: Progress,
) -> None:
    """Runs trials until `total` are finished, those of other processes on the study included."""

    def report(study: optuna.Study, trial: FrozenTrial) -> None:
        if on_trial:
            on_trial(study, trial)
        progress(_stage(study, objective.metrics), _finished(study), total)

    progress(_stage(study, objective.metrics), _finished(study), total)
    while _finished(study) < total:
        study.optimize(objective, n_trials=1, callbacks=[report])


def _result(studies: Sequence[optuna.Study], objective: Objective) -> SearchResult:
    """The best over all restarts."""
    candidates = []
    for study in studies:
        if not study.get_trials(deepcopy=False, states=[TrialState.COMPLETE]):
            raise InputError("no trial of the search could be finished; see the messages above")
        candidates.append(_best_trial(study))
    sign = -1.0 if objective.directions[0] == "maximize" else 1.0
    best = min(candidates, key=lambda trial: sign * trial.values[0])
    settings = best.user_attrs["candidate"]
    return SearchResult(Candidate(**settings), best, tuple(studies), objective.metrics)


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
        return optuna.samplers.RandomSampler(seed=section.seed + seed)
    return optuna.samplers.TPESampler(seed=section.seed + seed)


def _pruner(section: SearchSection) -> optuna.pruners.BasePruner:
    if section.pruner == "wilcoxon":
        return optuna.pruners.WilcoxonPruner(p_threshold=0.1)
    return optuna.pruners.MedianPruner() if section.pruner == "median" else optuna.pruners.NopPruner()


def _close_interrupted(study: optuna.Study, shared: bool) -> None:
    """Trials that a killed process left running: closed, their parameters tried again."""
    if shared:
        optuna.storages.fail_stale_trials(study)
        return
    for trial in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
        study.tell(trial.number, state=TrialState.FAIL)
        if trial.params and not isinstance(study.sampler, optuna.samplers.GridSampler):
            study.enqueue_trial(trial.params)


def _finished(study: optuna.Study) -> int:
    return len(study.get_trials(deepcopy=False, states=[TrialState.COMPLETE, TrialState.PRUNED]))


def _stage(study: optuna.Study, metrics: Sequence[str]) -> str:
    if not study.get_trials(deepcopy=False, states=[TrialState.COMPLETE]):
        return "search"
    best = _best_trial(study)
    return "search · best " + ", ".join(f"{m} {v:.4f}" for m, v in zip(metrics, best.values, strict=True))


def storage_at(address: str) -> optuna.storages.BaseStorage:
    """A storage that several processes may share: a database URL (PostgreSQL across machines), or a file.

    A database notices within two minutes that a process has fallen silent.

    Raises InputError where the database cannot be reached.
    """
    if "://" not in address:
        return journal(Path(address))
    try:
        return optuna.storages.RDBStorage(address, heartbeat_interval=30, grace_period=120)
    except Exception as error:
        raise InputError(
            f"cannot be used as study storage: {str(error).splitlines()[0]}",
            where=_without_password(address),
            remedy="check the server and the URL (PostgreSQL needs the extra `qe[postgresql]`)",
        ) from None


def _without_password(address: str) -> str:
    return re.sub(r"(://[^:/@]+):[^@]*@", r"\1:***@", address)


def earlier_trials(path: Path, space: Space, best: int = 5) -> list[dict[str, Any]]:
    """The parameters of the best trials of an earlier run (its output folder) that this space knows.

    Raises InputError where there is no study.
    """
    file = path / "study.journal"
    if not file.is_file():
        raise InputError(
            "holds no study (study.journal)", where=path, remedy="name an output folder of qe train"
        )
    storage = journal(file)
    known = set(space.distributions()) | {"learner", "selector"}
    found = []
    for name in optuna.get_all_study_names(storage):
        study = optuna.load_study(study_name=name, storage=storage)
        sign = -1.0 if study.directions[0] == optuna.study.StudyDirection.MAXIMIZE else 1.0
        trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
        found += [(sign * t.values[0], {k: v for k, v in t.params.items() if k in known}) for t in trials]
    found.sort(key=lambda pair: pair[0])
    return [params for _, params in found[:best] if params]


def journal(path: Path) -> optuna.storages.BaseStorage:
    """A study file that survives a kill at any point, for one or several processes on one machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    return optuna.storages.JournalStorage(backend)
