"""A project with a store of its own."""

from pathlib import Path

import pytest


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with its own mlflow.yaml, as working directory."""
    for name in ("TRACKING_URI", "REGISTRY_URI", "EXPERIMENT_NAME", "EXPERIMENT_ID"):
        monkeypatch.delenv(f"MLFLOW_{name}", raising=False)
    path = tmp_path / "mlflow.yaml"
    path.write_text("tracking_uri: sqlite:///runs.db\nartifact_root: files\nexperiment: trial-ground\n")
    monkeypatch.chdir(tmp_path)
    return path
