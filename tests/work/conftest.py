"""A folder with an MLflow store of its own."""

from pathlib import Path

import pytest


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TRACKING_URI", "REGISTRY_URI", "EXPERIMENT_NAME", "EXPERIMENT_ID"):
        monkeypatch.delenv(f"MLFLOW_{name}", raising=False)
    (tmp_path / "mlflow.yaml").write_text("tracking_uri: sqlite:///runs.db\nartifact_root: files\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
