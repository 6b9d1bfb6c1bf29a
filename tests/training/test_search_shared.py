"""One study, several processes: a journal file, a real PostgreSQL; a killed worker loses nothing."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.config import experiment
from qe.data.dataset import Dataset
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.check import check
from qe.training.study import storage_at
from qe.training.train import train
from tests.factories import Monkeypatch, refuses
from tests.patience import PATIENCE
from tests.production.test_serving_mlflow import free_port

pytestmark = pytest.mark.slow


PASSWORD = "sesame/Open-41"


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The URL of a fresh PostgreSQL server on loopback, run by an unprivileged user; it asks for PASSWORD."""
    pytest.importorskip("psycopg", reason="the extra mtqe[postgresql] is not installed")
    paths = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not paths:
        pytest.skip("no PostgreSQL server on this machine (Debian: apt-get install postgresql)")
    binaries = paths[-1].parent
    folder = Path(f"/tmp/qe-postgresql-{os.getpid()}")
    folder.mkdir()
    (folder / "password").write_text(PASSWORD)
    as_user: list[str] = []
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        for path in (folder, folder / "password"):
            os.chown(path, user.pw_uid, user.pw_gid)
        as_user = ["runuser", "-u", "postgres", "--"]
    port, data = free_port(), folder / "data"

    def run(*command: str) -> None:
        subprocess.run([*as_user, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    try:
        login = ["-U", "qe", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}"]
        run(str(binaries / "initdb"), "-D", str(data), *login, "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        run(
            str(binaries / "pg_ctl"), "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start"
        )
        try:
            yield f"postgresql+psycopg://qe@127.0.0.1:{port}/postgres"
        finally:
            run(str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def worker(demo_run: Any, storage: str, trials: int, *settings: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "qe", "train", str(EXPERIMENT), "--worker"]
    command += ["--data-root", str(demo_run.output), "--cache-dir", str(demo_run.output / "cache"), "--quiet"]
    for setting in (f"search.storage={storage}", f"search.trials={trials}", *settings):
        command += ["--set", setting]
    return subprocess.Popen(
        command, start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finished(storage: str) -> dict[int, Any]:
    try:
        study = optuna.load_study(study_name="demo", storage=storage_at(storage))
    except KeyError:
        return {}
    return {t.number: (t.values, t.params) for t in study.trials if t.state.name == "COMPLETE"}


def check_workers(demo_run: Any, storage: str) -> None:
    """Two workers, one killed: every finished trial stays, the other goes on to the number asked for."""
    killed, other = worker(demo_run, storage, 14), worker(demo_run, storage, 14)
    deadline = time.monotonic() + PATIENCE
    while len(finished(storage)) < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
    kept = finished(storage)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    _, errors = other.communicate(timeout=PATIENCE)
    assert other.returncode == 0, errors
    now = finished(storage)
    assert len(kept) >= 4 and len(now) >= 14
    assert all(now[number] == kept[number] for number in kept)


def test_workers_share_a_journal_file(demo_run: Any, tmp_path: Path) -> None:
    check_workers(demo_run, str(tmp_path / "shared.journal"))


def test_workers_share_a_postgresql_study(demo_run: Any, postgresql: str, monkeypatch: Monkeypatch) -> None:
    """The password comes from the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    check_workers(demo_run, postgresql)


@pytest.mark.parametrize("way", ["environment", "the home's .pgpass", "a file that the address names"])
def test_the_password_need_not_stand_in_the_experiment(
    way: str, postgresql: str, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    refuses("password", storage_at, postgresql)
    address = postgresql
    if way == "environment":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    else:
        file = tmp_path / (".pgpass" if "home" in way else "secret")
        file.write_text(f"*:*:*:qe:{PASSWORD}\n")
        file.chmod(0o600)
        address += "" if "home" in way else f"?passfile={file}"
    assert optuna.get_all_study_names(storage_at(address)) is not None


def test_no_artifact_of_a_run_has_the_password(
    demo_run: Any, postgresql: str, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    """Output folder, tracking database and artifacts, files in archives included."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    (tmp_path / "mlflow.yaml").write_text("artifact_root: artifacts\n")
    monkeypatch.chdir(tmp_path)
    address = postgresql.replace("qe@", f"qe:{PASSWORD}@")
    overrides = [f"search.storage={address}", "search.trials=2", "split.folds=3", "name=secretive"]
    loaded = experiment.load(EXPERIMENT, data_root=demo_run.output, overrides=overrides)
    outcome = train(check(loaded), tmp_path / "out", cache=demo_run.output / "cache")
    assert outcome.report["experiment"]["search"]["storage"] == postgresql.replace("qe@", "qe:***@")
    assert PASSWORD not in repr(loaded)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"mlflow.db", "report.json", "MLmodel"} <= {path.name for path in files}
    assert [path for path in files if any(PASSWORD.encode() in content for content in contents(path))] == []


def contents(path: Path) -> Iterator[bytes]:
    """A file's bytes, and those of what it holds if it is an archive."""
    yield path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from map(archive.read, archive.namelist())


def test_a_worker_of_another_experiment_is_refused(demo_run: Any, tmp_path: Path) -> None:
    """The same name and storage, other folds: one message, and the study is as it was."""
    storage = str(tmp_path / "shared.journal")
    _, errors = (first := worker(demo_run, storage, 2)).communicate(timeout=PATIENCE)
    assert first.returncode == 0, errors
    before = finished(storage)
    _, errors = (second := worker(demo_run, storage, 2, "split.seed=5")).communicate(timeout=PATIENCE)
    assert second.returncode == 2 and "the study 'demo' belongs to another experiment (folds: 5 (" in errors
    assert storage in errors and "Traceback" not in errors
    assert len(before) == 2 and finished(storage) == before


def test_an_unreachable_database_is_an_error_without_the_password() -> None:
    pytest.importorskip("psycopg", reason="the extra mtqe[postgresql] is not installed")
    with pytest.raises(InputError, match="cannot be used as study storage") as caught:
        storage_at("postgresql+psycopg://qe:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


def test_workers_of_one_run_try_different_points(tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    """Data in memory reach the other process, too; every trial is in the report, and no number is missing."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    words = ["the", "red", "house", "walks", "never", "often", "to", "green", "trees"]
    rows = [(" ".join(words[: 2 + i % 7]), " ".join(words[i % 3 :]), 50 + (7 * i) % 40) for i in range(60)]
    table = pd.DataFrame(rows, columns=["source", "target", "score"])
    told = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    made = experiment.from_mapping(
        {
            "name": "together", "dataset": {"format": "in_memory", "path": "."}, "features": ["surface"],
            "split": {"folds": 3}, "learner": {"kind": "ridge"}, "search": {"trials": 12}, "tracking": "off",
            "evaluation": {"samples": 100, "robustness": False}, "guard": False,
        },
        tmp_path,
    )  # fmt: skip
    plan, data = check(made, in_memory=True), Dataset.from_frame(table, **told)
    outcome = train(plan, tmp_path / "out", cache=tmp_path / "cache", dataset=data, workers=2)
    trials = pd.read_csv(tmp_path / "out" / "trials.tsv", sep="\t")
    assert 12 <= len(trials) <= 13 and trials["trial"].tolist() == list(range(1, len(trials) + 1))
    assert trials["ridge.alpha"].nunique() == len(trials)
    assert not outcome.report["search"]["reproducible"]
    study = optuna.load_study(
        study_name="together", storage=storage_at(str(tmp_path / "out" / "study.journal"))
    )
    assert all(trial.state.is_finished() for trial in study.trials)
