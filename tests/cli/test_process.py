"""How signals end a command."""

import signal
from pathlib import Path

import pytest

from qe.cli._process import Stopped, stopped_by_signals


def test_an_error_on_the_way_out_hides_no_signal(tmp_path: Path) -> None:
    """Optuna's lock, interrupted while it goes, removes a file that has gone."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(Stopped, match="terminated") as stopped, stopped_by_signals():
            try:
                signal.raise_signal(signal.SIGTERM)
            except BaseException:
                (tmp_path / "study.journal.lock").unlink()
                raise
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.value.code == 143


def test_an_error_without_a_signal_is_itself(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), stopped_by_signals():
        (tmp_path / "absent").read_text("utf-8")
