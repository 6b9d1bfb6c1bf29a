"""Pages with Python run from first line to last: docs/python.md as a notebook, docs/mlflow.md on the demo."""

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import mlflow
import pytest

from qe.getting_started.demo.run import EXPERIMENT
from tests.factories import Capsys, Monkeypatch

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str) -> list[Any]:
    """The compiled blocks of Python of a page."""
    found = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    return [compile(block, page, "exec") for block in found]


@pytest.mark.slow
def test_the_tour_runs(tmp_path: Path, monkeypatch: Monkeypatch, capsys: Capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    cells = json.loads((DOCS / "tour.ipynb").read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == 9
    names: dict[str, Any] = {}
    for cell in code:
        exec(compile(cell, "tour.ipynb", "exec"), names)
    assert names["figure"].axes[0].get_title(loc="left") or names["figure"].texts
    printed = capsys.readouterr().out
    assert "delta_avg" in printed and "predicted_against_gold.png" in printed and "p = " in printed
    assert list(names["scored"].columns) == ["score", "low", "high", "because", "reason"]
    assert (names["scored"]["low"] <= names["scored"]["high"]).all()


def test_the_notebook_is_made_from_the_page() -> None:
    made = runpy.run_path(str(DOCS / "site" / "notebook.py"))["notebook_text"](
        (DOCS / "python.md").read_text("utf-8")
    )
    assert (DOCS / "tour.ipynb").read_text("utf-8") == made, "run: python docs/site/notebook.py"
    try:
        from nbformat import reads, validate
    except ImportError:
        return
    validate(reads(made, as_version=4))


def test_the_page_on_mlflow_runs(demo_run: Any, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    shutil.copytree(demo_run.output / "data", tmp_path / "output" / "demo" / "data")
    shutil.copy(EXPERIMENT, tmp_path / "output" / "demo" / "demo.yaml")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    (shown,) = blocks("mlflow.md")
    names: dict[str, Any] = {}
    exec(shown, names)
    assert names["outcome"].run_id and mlflow.active_run() is None
    children = mlflow.search_runs(experiment_names=["translations"], output_format="list")
    assert {"monday", "demo"} <= {run.info.run_name for run in children}
