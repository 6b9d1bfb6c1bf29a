"""Settings: where runs go, and what a model is registered as."""

from pathlib import Path

from qe.tracking import settings
from tests.factories import Monkeypatch, TempPaths, refuses


def test_relative_paths_start_at_the_file(store: Path, monkeypatch: Monkeypatch) -> None:
    below = store.parent / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert settings.tracking_uri() == f"sqlite:///{store.parent / 'runs.db'}"
    assert settings.artifact_root() == (store.parent / "files").as_uri()


def test_artifacts_lie_beside_the_store(
    store: Path, tmp_path_factory: TempPaths, monkeypatch: Monkeypatch
) -> None:
    other, bare = tmp_path_factory.mktemp("other"), tmp_path_factory.mktemp("bare")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other / 'runs.db'}")
    assert settings.artifact_root() == (other / "files").as_uri()
    monkeypatch.chdir(bare)  # no mlflow.yaml here or above
    assert settings.artifact_root() == (other / "mlartifacts").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://qe@host/runs")
    assert settings.artifact_root() == (bare / "mlartifacts").as_uri()
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("XDG_DATA_HOME", str(other))
    assert settings.tracking_uri() == f"sqlite:///{other / 'qe' / 'mlflow.db'}"
    assert settings.artifact_root() == (other / "qe" / "mlartifacts").as_uri()


def test_an_unknown_key_is_an_error(store: Path) -> None:
    store.write_text("tracking: here\n")
    refuses(r"mlflow.yaml: unknown key 'tracking'; .*did you mean 'tracking_uri'", settings.load_settings)


def test_the_registered_name_is_a_template() -> None:
    assert settings.registered_model("qe-{dataset}", "wmt12-effort", "x") == "qe-wmt12-effort"
    assert settings.registered_model("qe-{dataset}", "mlqe-pe/en-de-da", "x") == "qe-mlqe-pe-en-de-da"
    refuses("unknown placeholder 'pair'", settings.registered_model, "qe-{pair}", "a", "b")
