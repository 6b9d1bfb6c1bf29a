"""What an output folder of training says of the run in it: gone on with, kept, replaced, or refused."""

from pathlib import Path

import pytest

from qe.training.run_state import RunState
from tests.factories import refuses

# How a run ended that is there -> how training is asked for -> what becomes of it.
CASES = [
    ("finished", {}, "same", "unchanged"),
    ("finished", {"resume": True}, "same", "unchanged"),
    ("finished", {"overwrite": True}, "same", "anew"),
    ("finished", {"overwrite": True, "keep_same": True}, "same", "unchanged"),
    ("finished", {"overwrite": True, "keep_same": True}, "other", "anew"),
    ("finished", {}, "other", "holds a finished run"),
    ("finished", {"resume": True}, "other", "goes on"),  # more trials, another metric
    ("finished without its model", {}, "same", "holds a finished run"),
    ("unfinished", {}, "same", "holds an unfinished run"),
    ("unfinished", {"resume": True}, "same", "goes on"),
    ("unfinished", {"overwrite": True}, "same", "anew"),
    ("unfinished", {"overwrite": True, "keep_same": True}, "same", "anew"),
    ("of other data", {"resume": True}, "same", "holds a study of other data"),
    ("of other data", {}, "other", "holds a finished run"),
]


@pytest.mark.parametrize(("there", "asked", "command", "expected"), CASES)
def test_a_run_that_is_there(
    there: str, asked: dict[str, bool], command: str, expected: str, tmp_path: Path
) -> None:
    before = RunState(tmp_path, fingerprint="other" if there == "of other data" else "data", command="same")
    before.run_id = "run"
    before.write(finished=there != "unfinished")
    (tmp_path / "report.json").write_text("{}")
    if there != "finished without its model":
        (tmp_path / "model").mkdir()

    def state() -> RunState:
        options = {"resume": False, "overwrite": False, **asked}
        opened = RunState.open(tmp_path, **options)
        opened.claim("data", [], command)
        return opened

    if expected.startswith("holds"):
        refuses(expected, state)
        return
    found = state()
    assert found.unchanged == (expected == "unchanged")
    assert found.run_id == (None if expected == "anew" else "run")
