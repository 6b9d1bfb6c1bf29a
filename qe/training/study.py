"""The study of a search: its storage, its owner, its trials, and what the next trial tries."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.trial import FrozenTrial, TrialState

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError
from features.storage.damage import damage_reported
from features.storage.files import digest
from qe.config.experiment import SearchSection
from qe.config.stores import STUDY_TABLES, check_journal, check_server, check_study_storage
from qe.training.plan import Space

SAMPLERS = Catalogue[BaseSampler]("", BaseSampler, "sampler", plugins=True)  # of Optuna and of users
PRUNERS = Catalogue[BasePruner]("", BasePruner, "pruner", plugins=True)
FAILURE = "failure"  # attribute of a trial: why its candidate failed
FOLDS_BEFORE_PRUNING = "folds_before_pruning"  # attribute of a trial that the pruner ended
_OWNER = "qe.experiment."  # attribute of a study: this and the fingerprint of its experiment
_REMEDY = "start again with --overwrite"
_OWNER_REMEDY = "give this experiment another `name`, or another `search.storage`"

Identity = Mapping[str, str]  # everything that the value of a trial depends on: part -> description
Parameters = Mapping[str, Any]
Built = TypeVar("Built")


@contextmanager
def quiet() -> Iterator[None]:
    """Silences Optuna's notes on experimental parts and failed trials: the report has them."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


class JournalLock(JournalFileSymlinkLock):
    """Optuna's lock of a journal; an interruption is raised unchanged, with the lock released."""

    def acquire(self) -> bool:
        with _interruptions_first():
            return super().acquire()

    def release(self) -> None:
        with _interruptions_first():
            super().release()


@contextmanager
def _interruptions_first() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while isinstance(cause, Exception):
            cause = cause.__context__
        if cause is None:
            raise
        raise cause from None


def _lock(path: Path) -> JournalLock:
    # The lock is a link to the journal: a relative path would lead nowhere, and hide the lock's age.
    return JournalLock(str(path.absolute()))


def mended(address: str) -> str:
    """Cuts a journal to its last whole line after a crash; a note on the loss, or an empty text."""
    check_study_storage(address)
    path = Path(address)
    if "://" in address or not path.is_file():
        return ""
    lock = _lock(path)
    try:
        lock.acquire()
        try:
            content = path.read_bytes()
            lost = len(content) - content.rfind(b"\n") - 1
            if lost:
                os.truncate(path, len(content) - lost)
        finally:
            lock.release()
    except OSError as error:
        raise InputError(f"cannot be repaired ({error.strerror})", location=path) from None
    return f"{path.name} ended in an unfinished line: its last {lost} bytes were cut off" if lost else ""


def storage_at(address: str) -> optuna.storages.BaseStorage:
    """A storage that processes can share: a database URL, or a journal file."""
    check_study_storage(address)
    if "://" not in address:
        return journal(Path(address))
    try:
        with quiet():
            check_server(address, STUDY_TABLES)
            return optuna.storages.RDBStorage(address, heartbeat_interval=30, grace_period=120)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"cannot be used as study storage: {str(error).splitlines()[0]}",
            location=address,
            remedy="check the server and the URL (PostgreSQL needs the extra `mtqe[postgresql]`)",
        ) from None


def journal(path: Path) -> optuna.storages.BaseStorage:
    check_journal(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backend = JournalFileBackend(str(path), _lock(path))
    except OSError as error:
        raise InputError(f"cannot be used ({error.strerror})", location=path) from None
    with damage_reported("the study", path, _REMEDY):
        return optuna.storages.JournalStorage(backend)


def claim(study: optuna.Study, identity: Identity, location: object) -> None:
    """Marks a new study as that of an experiment, or checks that it is.

    Each of several processes writes its claim first, then reads the others': at most one gets the study.
    """
    owner = _OWNER + digest(*identity.items())
    owners = _owners(study)
    if not owners and study.get_trials(deepcopy=False):
        problem = f"the study '{study.study_name}' has trials that qe did not make"
        raise InputError(problem, location=location, remedy=_OWNER_REMEDY)
    if not owners:
        study.set_user_attr(owner, dict(identity))
        owners = _owners(study)
        if len(owners) > 1:
            study.set_user_attr(owner, None)
    for name, theirs in owners.items():
        if name != owner:
            differing = [part for part in identity if theirs.get(part) != identity[part]]
            parts = "; ".join(f"{p}: {theirs.get(p, 'none')} there, {identity[p]} here" for p in differing)
            problem = f"the study '{study.study_name}' belongs to another experiment ({parts})"
            raise InputError(problem, location=location, remedy=_OWNER_REMEDY)


def _owners(study: optuna.Study) -> dict[str, Identity]:
    attributes = study.user_attrs.items()
    return {key: value for key, value in attributes if key.startswith(_OWNER) and value is not None}


def running(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=[TrialState.RUNNING])


def ended(study: optuna.Study, *states: TrialState) -> list[FrozenTrial]:
    """The trials that finished, were pruned or failed, or those of `states`; none that a kill cut off."""
    states = states or (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
    trials = study.get_trials(deepcopy=False, states=states)
    return [trial for trial in trials if trial.state != TrialState.FAIL or FAILURE in trial.user_attrs]


def earlier_trials(path: Path, space: Space, best: int = 5) -> list[dict[str, Any]]:
    """Parameters of the best trials of an earlier run (its folder) in this space. InputError without one."""
    file = path / "study.journal"
    if not file.is_file():
        remedy = "name an output folder of qe train"
        raise InputError("holds no study (study.journal)", location=path, remedy=remedy)
    storage = journal(file)
    known = set(space.distributions()) | {"learner", "selector"}
    values = []
    with damage_reported("the study", file, _REMEDY):
        for name in optuna.get_all_study_names(storage):
            study = optuna.load_study(study_name=name, storage=storage)
            sign = -1.0 if study.directions[0] == optuna.study.StudyDirection.MAXIMIZE else 1.0
            values += [
                (sign * t.values[0], {k: v for k, v in t.params.items() if k in known})
                for t in ended(study, TrialState.COMPLETE)
            ]
        values.sort(key=lambda pair: pair[0])
    return [params for _, params in values[:best] if params]


class Drawing(BaseSampler):
    """A sampler that is created for every trial, with a seed that depends on the trial's place.

    So a search that was stopped continues as if it had not been, and processes that share a study draw
    different points with one seed.

    first   parameters of the first trials
    shared  other processes work on the study: places are trial numbers; else they count ended trials
    """

    def __init__(
        self, space: Space, section: SearchSection, seed: int, first: Sequence[Parameters], *, shared: bool
    ) -> None:
        self._section, self._seed, self._first, self._shared = section, seed, first, shared
        self._grid = space.grid() if section.sampler == "grid" else None
        self._fixed: Parameters = {}
        self._sampler = self._sampler_at(0)

    def _sampler_at(self, place: int) -> BaseSampler:
        if self._grid is not None:
            return _Grid(self._grid, self._section.seed, place)
        state = np.random.SeedSequence((self._seed, self._section.seed, place)).generate_state(1)
        return sampler_of(self._section, int(state[0]))

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        place = trial.number if self._shared else len(ended(study))
        self._fixed = self._first[place] if place < len(self._first) else {}
        self._sampler = self._sampler_at(place)
        self._sampler.before_trial(study, trial)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        self._sampler.after_trial(study, trial, state, values)

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return {} if self._fixed else self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {} if self._fixed else self._sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        value = self._fixed.get(param_name)
        if value is not None:
            if isinstance(param_distribution, CategoricalDistribution):
                allowed = value in param_distribution.choices
            else:
                allowed = param_distribution.low <= value <= param_distribution.high  # type: ignore[attr-defined]
            if allowed:
                return value
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)


class _Grid(optuna.samplers.RandomSampler):
    def __init__(self, values: Mapping[str, Sequence[Any]], order: int, place: int) -> None:
        super().__init__()
        self._values, self._order, self._place = values, order, place
        self._point: Parameters = {}

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        tried = [t.params for t in (*ended(study), *running(study)) if t.number != trial.number]
        sizes = [len(choices) for choices in self._values.values()]
        shuffled = np.random.default_rng(self._order).permutation(int(np.prod(sizes)))
        places = zip(*np.unravel_index(shuffled, sizes), strict=True) if sizes else [()]
        points = [
            {name: choices[i] for (name, choices), i in zip(self._values.items(), place, strict=True)}
            for place in places
        ]
        remaining = [point for point in points if point not in tried] or points
        self._point = remaining[self._place % len(remaining)]

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._point[param_name]


def sampler_of(section: SearchSection, seed: int) -> BaseSampler:
    own = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    kind: Callable[..., BaseSampler] = own.get(section.sampler) or SAMPLERS.get(section.sampler)
    return _built("search.sampler", kind, section.sampler_params, seed=seed)


def pruner_of(section: SearchSection) -> BasePruner:
    if section.pruner is None:
        return optuna.pruners.NopPruner()
    return _built("search.pruner", PRUNERS.get(section.pruner), section.pruner_params)


def _built(key: str, kind: Callable[..., Built], params: Parameters, **fixed: Any) -> Built:
    try:
        return kind(**params, **fixed)
    except (TypeError, ValueError, ImportError) as error:
        raise InputError(str(error), location=key, remedy=f"change `{key}_params`, or `{key}`") from None


def spent(trials: Sequence[FrozenTrial], sign: float, section: SearchSection, total: int) -> str:
    """Why a search has ended after these trials, of `total` at most; an empty text while a budget remains.

    `sign` makes the first objective a loss.
    """
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    best = min(complete, key=lambda trial: sign * trial.values[0], default=None)
    since = 0 if best is None else sum(trial.number > best.number for trial in trials)
    if len(trials) >= total:
        return "1 trial" if len(trials) == 1 else f"{len(trials)} trials"
    if section.time is not None and seconds_of(trials) >= section.time:
        return f"its time is over ({in_units(section.time)}), after {len(trials)} trials"
    if section.without_gain is not None and since >= section.without_gain:
        return f"{since} trials without gain, of {len(trials)}"
    return ""


def seconds_of(trials: Sequence[FrozenTrial]) -> float:
    """Seconds in which at least one trial ran: without pauses, and parallel processes count once."""
    spans = [(t.datetime_start, t.datetime_complete) for t in trials]
    seconds, until = 0.0, datetime.min
    for start, end in sorted((start, end) for start, end in spans if start and end):
        seconds += max(0.0, (end - max(start, until)).total_seconds())
        until = max(until, end)
    return seconds


def in_units(seconds: float) -> str:
    """A duration as experiments write it, such as 20m, 1.5m or 45s."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds >= size and (10 * seconds / size) % 1 == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
