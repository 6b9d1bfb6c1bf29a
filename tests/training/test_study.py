"""The file of a study: budget of time, its lock interrupted, ends that a crash has damaged."""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from qe.training.study import JournalLock, journal, mended, quiet, seconds_of
from tests.factories import refuses


def trial(start: float, end: float | None) -> FrozenTrial:
    """A trial from one second of a day to another."""
    midnight = datetime(2026, 1, 1)
    made = optuna.trial.create_trial(value=0.0, state=TrialState.COMPLETE)
    made.datetime_start = midnight + timedelta(seconds=start)
    made.datetime_complete = None if end is None else midnight + timedelta(seconds=end)
    return made


@pytest.mark.parametrize(("spans", "seconds"), [
    ([], 0), ([(0, 10)], 10),
    ([(0, 10), (100, 110)], 20),  # stopped, and gone on
    ([(0, 10), (2, 8), (5, 12)], 12),  # side by side
    ([(0, 10), (3, None)], 10),  # cut off by a kill
])  # fmt: skip
def test_time_is_what_was_computed_in(spans: list[tuple[float, float | None]], seconds: float) -> None:
    assert seconds_of([trial(*span) for span in spans]) == seconds


class Interrupted(BaseException):
    """An exception that a handler of signals raises."""


@pytest.fixture
def lock(tmp_path: Path) -> JournalLock:
    return JournalLock(str(tmp_path / "study.journal"))


def interrupted_after(call: Any) -> Any:
    """The call, and an interruption before it returns."""

    def call_and_end(*arguments: Any) -> None:
        call(*arguments)
        monkey.undo()
        raise Interrupted

    monkey = pytest.MonkeyPatch()
    monkey.setattr(os, call.__name__, call_and_end)
    return monkey


def test_taken_and_given_back(lock: JournalLock, tmp_path: Path) -> None:
    assert lock.acquire()
    assert [path.name for path in tmp_path.iterdir()] == ["study.journal.lock"]
    lock.release()
    assert not list(tmp_path.iterdir())
    refuses("did not possess", lock.release, error=RuntimeError)


@pytest.mark.parametrize("call", [os.rename, os.unlink])
def test_interrupted_while_it_is_given_back(call: Any, lock: JournalLock, tmp_path: Path) -> None:
    lock.acquire()
    interrupted_after(call)
    with pytest.raises(Interrupted):
        lock.release()
    assert not list(tmp_path.iterdir())


def test_interrupted_when_it_has_been_taken(lock: JournalLock, tmp_path: Path) -> None:
    interrupted_after(os.symlink)
    with pytest.raises(Interrupted):
        lock.acquire()
    assert not list(tmp_path.iterdir())


def test_interrupted_before_it_is_taken(lock: JournalLock, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*arguments: Any) -> None:
        raise Interrupted

    monkeypatch.setattr(os, "symlink", end)
    with pytest.raises(Interrupted):
        lock.acquire()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "the last byte": lambda whole: whole[:-1],
    "150 bytes": lambda whole: whole[:-150],
    "NUL bytes for the end": lambda whole: whole[:-40] + bytes(40),
    "a block of NUL bytes behind it": lambda whole: whole + bytes(200_000),
    "an unfinished line and NUL bytes": lambda whole: whole[:-9] + bytes(100),
    "half a letter": lambda whole: whole + '{"op_code":8,"x":"é'.encode()[:-1],
}


def study_of(path: Path) -> optuna.Study:
    return optuna.create_study(study_name="s", storage=journal(path), load_if_exists=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with quiet():
        study_of(tmp_path / "study.journal").optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=4)
    return tmp_path / "study.journal"


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGE)
def test_what_a_crash_leaves_is_cut_off(kind: str, path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[kind](whole))
    note = mended(str(path))
    assert "its last" in note and "were cut off" in note
    lines = path.read_bytes()
    assert lines.endswith(b"\n") and whole.startswith(lines)
    with quiet():
        study = study_of(path)
        assert len([t for t in study.trials if t.state.is_finished()]) >= 3
        study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
        assert len(study_of(path).trials) == len(study.trials)
    assert mended(str(path)) == ""


def test_a_whole_journal_stays(path: Path) -> None:
    whole = path.read_bytes()
    assert mended(str(path)) == "" and path.read_bytes() == whole
    assert mended("postgresql://nowhere/x") == "" and mended(str(path.with_name("none"))) == ""


def test_damage_in_the_middle_is_told(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes(20) + whole[120:])
    assert mended(str(path)) == ""
    refuses("the study is damaged", study_of, path)
    assert len(path.read_bytes()) == len(whole)
