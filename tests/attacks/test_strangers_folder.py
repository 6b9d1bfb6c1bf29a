"""A working directory from elsewhere: nothing that lies in it, or where others can write, is run.

Every case plants code that says so when it runs, and shows that it would run: somewhere a tool runs it.
"""

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from features.storage.surroundings import compile_cache
from qe.tracking.settings import working_directory_commit
from tests.attacks.test_processes import QE, ROOT
from tests.factories import Monkeypatch, TempPaths
from tests.patience import PATIENCE
from tests.production.test_serving_mlflow import free_port, wait_until_up

# Names that a command of this project, or a library of it, imports; one of each kind.
MODULES = (
    "typing",
    "json",
    "typer",
    "numpy",
    "numba",
    "yaml",
    "pandas",
    "mlflow",
    "matplotlib",
    "lightgbm",
    "uvicorn",
)
KERNEL = "from features.basics.distinct import intern_chunks; assert intern_chunks(['a b'])[0] == ['a', 'b']"
_ROW = "pandas.DataFrame({'source': ['a b'], 'target': ['c d']})"
SCORED = f"import sys, qe, pandas; assert len(qe.load_model(sys.argv[1]).predict({_ROW})) == 1"
PYFUNC = f"import sys, mlflow, pandas; assert len(mlflow.pyfunc.load_model(sys.argv[1]).predict({_ROW})) == 1"


class Planted:
    """A pickle that leaves a mark when it is read."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self._mark,)


class Stranger:
    """A folder from elsewhere, and a mark that its code leaves when it is run."""

    def __init__(self, folder: Path, mark: Path) -> None:
        self.folder, self.mark = folder, mark
        self.environment = {
            k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "PYTHONSAFEPATH")
        }
        self.environment |= {"PYTHONPATH": str(ROOT), "HOME": str(mark.parent), "XDG_CACHE_HOME": ""}
        self.environment |= {"MLFLOW_TRACKING_URI": f"sqlite:///{mark.parent / 'mlflow.db'}"}
        folder.mkdir()

    def run(self, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, cwd=self.folder, env={**self.environment, **environment}, capture_output=True, text=True,
            check=False, timeout=PATIENCE,
        )  # fmt: skip

    def ran(self) -> bool:
        """Whether planted code has run since this was asked the last time."""
        there = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return there

    def program(self, name: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\ntouch {self.mark}\nexec cat\n", "utf-8")
        path.chmod(0o755)
        return path

    def modules(self) -> None:
        for name in MODULES:
            (self.folder / f"{name}.py").write_text(f"open({str(self.mark)!r}, 'w').close()\n", "utf-8")


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path / "stranger", tmp_path / "ran")


@pytest.fixture(scope="session")
def warm(tmp_path_factory: TempPaths) -> dict[str, str]:
    """A user's cache that the cases share: to compile for scoring takes half a minute."""
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("warm"))}


def plant_compiled(stranger: Stranger, folder: Path) -> None:
    """Numba's index file for a function that every tokenizer calls: a pickle that leaves the mark."""
    stranger.run(sys.executable, "-c", KERNEL, NUMBA_CACHE_DIR=str(folder)).check_returncode()
    indices = list(folder.rglob("*.nbi"))
    assert indices
    for index in indices:
        index.write_bytes(pickle.dumps(Planted(stranger.mark)))


def scoring(stranger: Stranger, model: Path, *more: str) -> list[str]:
    shutil.copy(model.parent / "data" / "new.tsv", stranger.folder)
    return ["score", "--model", str(model), "--input", "new.tsv", "--output", "out.tsv", "--overwrite", *more]


@pytest.mark.slow
def test_numbas_settings_in_the_working_directory_are_not_read(
    stranger: Stranger, demo_model: Path, warm: dict[str, str]
) -> None:
    plant_compiled(stranger, stranger.folder / ".cache")
    stranger.run(sys.executable, "-c", KERNEL, NUMBA_CACHE_DIR="./.cache")
    assert stranger.ran()  # what the user names is used: the planted file is one that Numba reads

    (stranger.folder / ".numba_config.yaml").write_text("cache_dir: ./.cache\n", "utf-8")
    workers = ["--workers", "2", "--chunk", "100", "--no-cache"]
    logged = next((demo_model.parent / "artifacts").rglob("MLmodel")).parent
    commands = {
        "one process": [*QE, *scoring(stranger, demo_model)],
        "worker processes": [*QE, *scoring(stranger, demo_model, *workers)],
        "import qe": [sys.executable, "-c", SCORED, str(demo_model)],
        "import features": [sys.executable, "-c", KERNEL],
        "numba first": [sys.executable, "-c", f"import numba; {KERNEL}"],
        "MLflow's pyfunc": [sys.executable, "-c", PYFUNC, str(logged)],
    }
    for name, command in commands.items():
        done = stranger.run(*command, **warm)
        assert done.returncode == 0, (name, done.stderr)
        assert not stranger.ran(), name
    assert (Path(warm["XDG_CACHE_HOME"]) / "qe" / "numba").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", ["[", "- a\n", "cache_locator_classes: typer.Evil\n", "\x00", "disable_jit: 1\n"]
)
def test_settings_of_numba_that_are_none_hinder_nothing(
    content: str, stranger: Stranger, warm: dict[str, str]
) -> None:
    (stranger.folder / ".numba_config.yaml").write_text(content, "utf-8")
    seen = "import numba; assert not numba.config.DISABLE_JIT"
    done = stranger.run(sys.executable, "-c", f"{KERNEL}; {seen}", **warm)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_compiled_code_that_others_could_have_written_is_not_run(stranger: Stranger, tmp_path: Path) -> None:
    cache = tmp_path / ".cache" / "qe" / "numba"
    plant_compiled(stranger, cache)
    stranger.run(sys.executable, "-c", KERNEL)
    assert stranger.ran()  # the user's own
    os.chown(cache, -1, 12345)  # a group that others may belong to
    for mode in (0o777, 0o770):
        cache.chmod(mode)
        stranger.run(sys.executable, "-c", KERNEL).check_returncode()
        assert not stranger.ran(), mode


@pytest.mark.parametrize("above", [False, True])
def test_a_cache_that_can_be_exchanged_is_none(above: bool, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "b"))
    assert compile_cache() == tmp_path / "a" / "b" / "qe" / "numba"
    (tmp_path / ("a" if above else "a/b/qe")).chmod(0o777)
    assert not compile_cache().is_relative_to(tmp_path / "a")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")  # relative: what lies in the working directory
    monkeypatch.setenv("HOME", "home")
    monkeypatch.chdir(tmp_path)
    assert not compile_cache().is_relative_to(tmp_path)


def test_an_empty_cache_gets_what_was_compiled_with_the_installation(
    tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    installed = tmp_path / "prefix" / "share" / "qe" / "numba" / "edits_1"
    installed.mkdir(parents=True)
    (installed / "ter.nbi").write_text("1")
    folder = compile_cache()
    assert (folder / "edits_1" / "ter.nbi").read_text() == "1"
    assert {path.name for path in folder.parent.iterdir()} == {"CACHEDIR.TAG", folder.name}
    (folder / "edits_1" / "ter.nbi").write_text("2")
    assert (compile_cache() / "edits_1" / "ter.nbi").read_text() == "2"  # one that is in use stays
    (tmp_path / "cache" / "qe").chmod(0o777)
    temporary = compile_cache()
    assert temporary != folder and (temporary / "edits_1" / "ter.nbi").read_text() == "1"


@pytest.mark.slow
def test_modules_of_the_working_directory_are_not_imported(
    stranger: Stranger, demo_model: Path, warm: dict[str, str]
) -> None:
    stranger.modules()
    stranger.run(sys.executable, "-c", "import typer")
    assert stranger.ran()
    score = scoring(stranger, demo_model, "--workers", "2", "--chunk", "100", "--no-cache")
    script = [sys.executable, "-P", "-c", "import sys; from qe.__main__ import main; main(sys.argv[1:])"]

    def check(command: list[str], path: str) -> None:
        done = stranger.run(*command, **warm, PYTHONPATH=path)
        assert done.returncode == 0, done.stderr
        assert not stranger.ran(), (command, path)

    for command in ([*QE, *score], [*QE, "features", "list"]):
        for path in (str(ROOT), f"{ROOT}:"):  # an empty entry is the working directory, too
            check(command, path)
    for name in (
        "typing",
        "json",
    ):  # which Python itself then takes from there before any line of ours is run
        (stranger.folder / f"{name}.py").unlink()
    check([*script, *score], f"{ROOT}:")


@pytest.mark.slow
def test_relative_entries_of_the_search_path_are_not_followed(stranger: Stranger, tmp_path: Path) -> None:
    """An editable install with a namespace puts such a name there; Python looks for missing modules in it."""
    (stranger.folder / "hook").mkdir()
    planted = stranger.folder / "hook" / "msvcrt.py"  # which subprocess looks for, and Linux does not have
    planted.write_text(f"open({str(stranger.mark)!r}, 'w').close()\n", "utf-8")
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.path.append('hook')\n", "utf-8")
    path = f"{tmp_path}:{ROOT}"
    stranger.run(sys.executable, "-c", "import subprocess", PYTHONPATH=path)
    assert stranger.ran()
    done = stranger.run(*QE, "learners", "list", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert not stranger.ran()


@pytest.mark.slow
def test_the_ui_and_its_server_import_nothing_from_the_working_directory(
    stranger: Stranger, demo_model: Path
) -> None:
    store = {"MLFLOW_TRACKING_URI": f"sqlite:///{demo_model.parent / 'mlflow.db'}"}
    stranger.modules()
    port = free_port()
    process = subprocess.Popen(
        [*QE, "ui", "--port", str(port)], cwd=stranger.folder, env={**stranger.environment, **store},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        wait_until_up(f"http://127.0.0.1:{port}/health", process)
    finally:
        os.killpg(process.pid, 15)
        process.wait(PATIENCE)
    assert not stranger.ran()
    subprocess.run([sys.executable, "-m", "mlflow", "--version"], cwd=stranger.folder, check=False)
    assert stranger.ran()


@pytest.mark.slow
def test_a_checkout_from_elsewhere_runs_nothing(stranger: Stranger, monkeypatch: Monkeypatch) -> None:
    program, folder = stranger.program("evil"), stranger.folder

    def git(*arguments: str) -> None:
        stranger.run("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments).check_returncode()

    git("init", "--quiet")
    (folder / "kept").write_text("1\n", "utf-8")
    (folder / ".gitattributes").write_text("* filter=evil\n", "utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    stranger.ran()
    plants: dict[str, Callable[[], None]] = {
        "monitor": lambda: git("config", "core.fsmonitor", str(program)),
        "filter": lambda: git("config", "filter.evil.clean", str(program)),
        "hook": lambda: (folder / ".git" / "hooks" / "post-index-change").symlink_to(program),
    }
    monkeypatch.chdir(folder)
    clean = working_directory_commit()
    assert len(clean) == 40
    for name, plant in plants.items():
        shutil.copytree(folder / ".git", folder.parent / "git")
        plant()
        (folder / "kept").write_text(f"{name}\n", "utf-8")
        os.utime(folder / "kept", (1, 1))
        stranger.ran()
        assert working_directory_commit() == clean, name
        assert not stranger.ran(), name
        os.utime(folder / ".gitattributes", (1, 1))
        git("status", "--porcelain")
        assert stranger.ran(), name
        shutil.rmtree(folder / ".git")
        (folder.parent / "git").rename(folder / ".git")


@pytest.mark.slow
def test_matplotlibs_settings_in_the_working_directory_are_not_read(stranger: Stranger) -> None:
    seen = "import matplotlib; print(matplotlib.rcParams['lines.linewidth'])"
    settings = stranger.folder / "matplotlibrc"
    settings.write_text("lines.linewidth: 77\n", "utf-8")
    assert stranger.run(sys.executable, "-c", seen).stdout == "77.0\n"
    assert stranger.run(sys.executable, "-c", f"import qe.evaluation.plots; {seen}").stdout == "1.5\n"
    settings.write_bytes(b"\xff\xfe")
    assert stranger.run(sys.executable, "-c", f"import qe.evaluation.plots; {seen}").stdout == "1.5\n"


@pytest.mark.slow
def test_a_project_of_uv_is_not_taken_for_the_models(stranger: Stranger, demo_model: Path) -> None:
    (stranger.folder / "uv.lock").write_text("version = 1\n", "utf-8")
    (stranger.folder / "pyproject.toml").write_text("[project]\nname = 'x'\nversion = '1'\n", "utf-8")
    saved = (
        "import sys; from qe.tracking.logged_models import save_pyfunc\n"
        "from qe.tracking.connection import quiet\n"
        "with quiet(): save_pyfunc(sys.argv[2], artifacts={'model': sys.argv[1]})"
    )
    for number, detect in enumerate(({}, {"MLFLOW_UV_AUTO_DETECT": "true"})):
        done = stranger.run(sys.executable, "-c", saved, str(demo_model), f"../saved{number}", **detect)
        assert done.returncode == 0, done.stderr
        assert bool(list(stranger.folder.parent.glob(f"saved{number}/**/uv.lock"))) == bool(detect)
