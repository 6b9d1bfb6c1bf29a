"""Every benchmark says what it measures and takes: its `--help` runs."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, SHARED_DATA
from tests.factories import Capsys, Monkeypatch

SCRIPTS = sorted((ROOT / "benchmarks").rglob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_help(script: Path, monkeypatch: Monkeypatch, capsys: Capsys) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("usage: ")


# What `make bench` runs, at its smallest size; servers and kills have tests of their own.
SMALLEST = {
    "bench_compare.py": ["--skip-sacrebleu", "--data"],
    "bench_features.py": ["baseline17", "--data-root"],
    "bench_replications.py": ["--simulations", "2", "--data"],
    "bench_significance.py": ["--segments", "2000"],
    "bench_peers.py": ["--segments", "20", "--pairs", "200", "--samples", "50", "--data"],
}
USES = {"bench_features.py": ["wmt12-qe"], "bench_peers.py": ["golden/multeval", "alignment/en-es/cse256"]}
WITH_A_SERVER_OR_A_TRAINING = {
    "bench_kill.py", "bench_scoring.py", "bench_search.py", "bench_serving.py", "fuzz_loaders.py",
    "fuzz_server.py", "soak_server.py",
}  # fmt: skip


def test_what_make_bench_runs_is_there() -> None:
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    named = {line.split()[1].removeprefix("benchmarks/") for line in lines if "python benchmarks/" in line}
    assert named == set(SMALLEST) | WITH_A_SERVER_OR_A_TRAINING
    assert all((ROOT / "benchmarks" / name).is_file() for name in named)


@pytest.mark.slow
@pytest.mark.parametrize("script", SMALLEST)
def test_runs_at_its_smallest_size(
    script: str, shared_data: Callable[[str], Path], monkeypatch: Monkeypatch, capsys: Capsys
) -> None:
    path, arguments = ROOT / "benchmarks" / script, SMALLEST[script]
    if arguments[-1].startswith("--data"):
        for name in USES.get(script, ["golden/multeval"]):
            shared_data(name)
        arguments = [*arguments, str(SHARED_DATA)]
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_every_study_is_on_a_page_of_results() -> None:
    text = "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "results").glob("*.md"))
    scripts = [script.name for script in (ROOT / "benchmarks" / "studies").glob("*.py")]
    assert [name for name in scripts if name not in text] == []
