"""The study: where it lies, which experiment it belongs to, and how its trials ended."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from features.basics.errors import InputError
from features.storage.damage import damage_reported
from features.storage.files import digest
from qe.config.stores import STUDY_TABLES, check_journal, check_server, check_study_storage
from qe.training.journal_lock import JournalLock
from qe.training.journal_repair import cut_unfinished
from qe.training.objective import FAILURE
from qe.training.space import Space

_ANEW = "start anew with --overwrite"
_OWNER = "qe.experiment."  # attribute of a study, with a fingerprint behind it: whose it is
Identity = Mapping[
    str, str
]  # what a trial's value depends on: part -> what people and fingerprints say of it


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna says nothing of experimental parts and failed trials: the report does."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


def mended(address: str) -> str:
    """Cuts the unfinished end of a study file after a crash; returns a note of it.

    Databases repair themselves.
    """
    check_study_storage(address)
    return "" if "://" in address else cut_unfinished(Path(address), _lock(Path(address)))


def storage_at(address: str) -> optuna.storages.BaseStorage:
    """A storage that processes can share: a database URL or a file.

    PostgreSQL serves several machines.

    A database notices within two minutes that a process has fallen silent.

    Raises InputError if the database cannot be reached, or is another program's (`check_study_storage`).
    """
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
    """A study file that survives a kill at any point.

    One or several processes on one machine may use it.

    Raises InputError for a damaged one, and for a file of another kind.
    """
    check_journal(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backend = JournalFileBackend(str(path), _lock(path))
    except OSError as error:
        raise InputError(f"cannot be used ({error.strerror})", location=path) from None
    with damage_reported("the study", path, _ANEW):
        return optuna.storages.JournalStorage(backend)


def _lock(path: Path) -> JournalLock:
    # The lock is a link to the journal: of a relative path it would lead nowhere, and not show its age.
    return JournalLock(str(path.absolute()))


def claim(study: optuna.Study, identity: Identity, location: object) -> None:
    """Makes a new study that of an experiment, or finds that it is.

    Of several experiments that claim a study at the same moment, one at most gets it: each writes its claim
    first, and then reads those of the others.

    Raises InputError, with what differs, if it is another's.
    """
    own = _OWNER + digest(*identity.items())
    owners = _owners(study)
    if not owners and study.get_trials(deepcopy=False):
        raise InputError(
            f"the study '{study.study_name}' has trials that qe did not make",
            location=location,
            remedy=_OTHERWISE,
        )
    if not owners:
        study.set_user_attr(own, dict(identity))
        owners = _owners(study)
        if len(owners) > 1:
            study.set_user_attr(own, None)
    others = [known for owner, known in owners.items() if owner != own]
    if others:
        raise InputError(
            _difference(study.study_name, others[0], identity), location=location, remedy=_OTHERWISE
        )


_OTHERWISE = "give this experiment another `name`, or another `search.storage`"


def _owners(study: optuna.Study) -> dict[str, Identity]:
    attributes = study.user_attrs
    return {key: known for key, known in attributes.items() if key.startswith(_OWNER) and known is not None}


def _difference(name: str, known: Identity, identity: Identity) -> str:
    differ = [part for part in identity if known.get(part) != identity[part]]
    told = "; ".join(f"{part}: {known.get(part, 'none')} there, {identity[part]} here" for part in differ)
    return f"the study '{name}' belongs to another experiment ({told})"


def ended(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that finished, were pruned or failed; not those that a kill cut off."""
    states = [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL]
    trials: Sequence[FrozenTrial] = study.get_trials(deepcopy=False, states=states)
    return [trial for trial in trials if trial.state != TrialState.FAIL or FAILURE in trial.user_attrs]


def finished(study: optuna.Study) -> list[FrozenTrial]:
    """The trials with values."""
    trials: list[FrozenTrial] = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    return trials


def failed(study: optuna.Study) -> list[FrozenTrial]:
    """The trials whose candidate could not be computed."""
    return [trial for trial in ended(study) if trial.state == TrialState.FAIL]


def earlier_trials(path: Path, space: Space, best: int = 5) -> list[dict[str, Any]]:
    """Parameters of the best trials of an earlier run (its output folder) in this space.

    Raises InputError if there is no study.
    """
    file = path / "study.journal"
    if not file.is_file():
        raise InputError(
            "holds no study (study.journal)", location=path, remedy="name an output folder of qe train"
        )
    storage = journal(file)
    known = set(space.distributions()) | {"learner", "selector"}
    values = []
    with damage_reported("the study", file, _ANEW):
        for name in optuna.get_all_study_names(storage):
            study = optuna.load_study(study_name=name, storage=storage)
            sign = -1.0 if study.directions[0] == optuna.study.StudyDirection.MAXIMIZE else 1.0
            values += [
                (sign * t.values[0], {k: v for k, v in t.params.items() if k in known})
                for t in finished(study)
            ]
        values.sort(key=lambda pair: pair[0])
    return [params for _, params in values[:best] if params]
