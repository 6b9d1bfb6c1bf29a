"""Journals that a crash has damaged at their end: a kind of damage more is a line more."""

from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from qe.training.study import journal, mended, quiet
from tests.factories import refuses

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
