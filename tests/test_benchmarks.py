"""Every benchmark says what it measures and takes: its `--help` runs."""

import runpy
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPTS = sorted((ROOT / "benchmarks").rglob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_help(script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("usage: ")


def test_what_make_bench_runs_is_there() -> None:
    named = [
        line.split()[1]
        for line in (ROOT / "Makefile").read_text("utf-8").splitlines()
        if "python benchmarks/" in line
    ]
    assert len(named) > 5 and all((ROOT / name).is_file() for name in named)


def test_studies_are_named_after_a_page_of_results() -> None:
    pages = [page.stem.replace("-", "_") for page in (ROOT / "docs" / "results").glob("*.md")]
    for script in (ROOT / "benchmarks" / "studies").glob("*.py"):
        assert any(script.stem.startswith(f"{page}_") for page in pages), script.name
