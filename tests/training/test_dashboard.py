"""The study of a search in optuna-dashboard itself, over HTTP and in a browser."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qe.training.search import Search, SearchResult
from qe.training.study import journal
from tests.patience import PATIENCE
from tests.production.test_serving_mlflow import free_port, wait_until_up
from tests.training.test_search import objective, ridge, section

pytest.importorskip("optuna_dashboard")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SearchResult]:
    path = tmp_path_factory.mktemp("study") / "study.journal"
    result = Search(objective([ridge()]), section(trials=4), name="mine", storage=journal(path)).result()
    return path, result


@pytest.fixture(scope="module")
def dashboard(study: tuple[Path, SearchResult]) -> Iterator[str]:
    """The address of `optuna-dashboard FILE`, as docs/search.md has it."""
    root = f"http://127.0.0.1:{(port := free_port())}"
    command = [str(Path(sys.executable).with_name("optuna-dashboard")), str(study[0]), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_up(f"{root}/api/studies", process)
        yield root
    finally:
        process.terminate()
        process.wait(PATIENCE)


def asked(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return json.load(answer)


def test_it_has_the_study_its_trials_and_the_best(study: tuple[Path, SearchResult], dashboard: str) -> None:
    result = study[1]
    (summary,) = asked(f"{dashboard}/api/studies")["study_summaries"]
    assert (summary["study_name"], summary["directions"]) == ("mine", ["minimize"])
    shown = asked(f"{dashboard}/api/studies/{summary['study_id']}")
    assert [trial["values"] for trial in shown["trials"]] == [trial.values for trial in result.trials]
    assert {trial["state"] for trial in shown["trials"]} == {"Complete"}
    assert shown["best_trials"][0]["values"] == result.best_trial.values
    (parameter,) = shown["best_trials"][0]["params"]
    assert float(parameter["param_external_value"]) == result.best_trial.params[parameter["name"]]
