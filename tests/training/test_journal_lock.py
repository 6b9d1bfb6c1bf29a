"""The lock of a study's file, interrupted."""

import os
from pathlib import Path
from typing import Any

import pytest

from qe.training.study import JournalLock
from tests.factories import refuses


class Interrupted(BaseException):
    """As a handler of signals raises it."""


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
