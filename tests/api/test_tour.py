"""docs/python.md runs from its first line to its last."""

import re
from pathlib import Path
from typing import Any

import pytest

TOUR = Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.mark.slow
def test_the_tour_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    blocks = re.findall(r"```python\n(.*?)```", TOUR.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 8
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(TOUR), "exec"), names)
    printed = capsys.readouterr().out
    assert "delta_avg" in printed and "predicted_against_gold.png" in printed and "p = " in printed
    assert list(names["scored"].columns) == ["score", "low", "high", "because", "reason"]
    assert (names["scored"]["low"] <= names["scored"]["high"]).all()
