"""What the pages of docs/ show runs on the demo, in the order written; what is read first is short."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from qe.cli import main
from qe.getting_started.demo.run import EXPERIMENT
from tests.factories import Capsys, Monkeypatch, TempPaths
from tests.shown import ROOT, commands

PAGES = sorted((ROOT / "docs").rglob("*.md"))
OWN_DATA = ROOT / "docs" / "own-data.md"


@pytest.fixture(scope="module")
def folder(demo_run: Any, tmp_path_factory: TempPaths) -> Path:
    """A folder with the small demo in output/demo, and a copy of its store."""
    place = tmp_path_factory.mktemp("shown")
    left = shutil.ignore_patterns("artifacts", "mlflow.db*", "*.lock")
    shutil.copytree(demo_run.output, place / "output" / "demo", ignore=left)
    (place / "output" / "demo" / "demo.yaml").write_bytes(EXPERIMENT.read_bytes())
    block = re.findall(r"```yaml\n(good:.*?)```", (ROOT / "docs" / "thresholds.md").read_text(), re.DOTALL)
    (place / "costs.yaml").write_text(block[0])
    (table,) = re.findall(r"^\(printf .*$", OWN_DATA.read_text("utf-8"), re.MULTILINE)
    subprocess.run(["bash", "-c", table], cwd=place, check=True)
    shutil.copy(demo_run.output / "mlflow.db", place / "mlflow.db")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_every_command_runs(page: Path, folder: Path, monkeypatch: Monkeypatch, capsys: Capsys) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "tests")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for command in commands(page):
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        # Of promotion and triage the answer may be no: the demo of the tests is small.
        allowed = (0, 1) if command.startswith(("qe promote", "qe triage")) else (0,)
        assert ended.value.code in allowed, f"{command}\n{capsys.readouterr().err}"


def test_every_command_of_the_first_hour_is_run() -> None:
    blocks = "".join(re.findall(r"```sh\n(.*?)```", OWN_DATA.read_text("utf-8"), re.DOTALL))
    shown = [line for line in blocks.splitlines() if not line.startswith("(printf ")]
    assert len(shown) >= 8 and commands(OWN_DATA) == shown
