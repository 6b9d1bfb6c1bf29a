"""Connection: the store and the experiment that MLflow is pointed at."""

from pathlib import Path

import mlflow
import pytest

from qe.tracking import runs
from qe.tracking.connection import connected


@pytest.mark.slow
def test_the_environment_overrides_the_file(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{store.parent / 'other.db'}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "elsewhere")
    with runs.run("one"):
        pass
    assert (store.parent / "other.db").is_file() and not (store.parent / "runs.db").exists()
    with connected():
        assert mlflow.get_experiment_by_name("elsewhere") is not None
