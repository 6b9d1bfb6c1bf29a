"""--threads and QE_THREADS: how many threads and processes a verb starts."""

import os
from pathlib import Path
from typing import Any

import pytest

from features.basics import threads, workers
from qe.cli._verbs import commands, verbs
from qe.cli.shared.commands import NOTHING_COMPUTED
from tests.factories import Monkeypatch, exit_code


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_that_computes_has_the_option(verb: str) -> None:
    first, *_ = commands(verb).values()
    has = "threads" in [option.parameter for option in first.options]
    assert has == (verb not in NOTHING_COMPUTED)


@pytest.mark.slow
def test_the_option_holds_for_libraries_too_and_ends_with_the_command(monkeypatch: Monkeypatch) -> None:
    seen: list[tuple[int, str, str]] = []

    def printed(*_: Any, **__: Any) -> None:
        seen.append((threads.cores(), os.environ["QE_THREADS"], os.environ["OMP_NUM_THREADS"]))

    monkeypatch.setattr("qe.display.summary.show", printed)
    monkeypatch.delenv("QE_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    before = dict(os.environ)
    assert exit_code("features", "list", "--threads", "3") == 0 and dict(os.environ) == before
    assert {*seen} == {(3, "3", "3")}


@pytest.mark.parametrize(("asked", "expected"), [(["--threads", "2"], 2), ([], 3), (["--workers", "1"], 1)])
def test_scoring_starts_as_many_processes_as_it_may(
    asked: list[str], expected: int, demo_model: Path, demo_run: Any, tmp_path: Path,
    monkeypatch: Monkeypatch
) -> None:  # fmt: skip
    """64 processors, of which this process may use three."""
    started: list[int] = []

    class Counted(workers.WorkerPool):
        def __init__(self, number: int, *rest: Any) -> None:
            started.append(number)
            super().__init__(number, *rest)

    monkeypatch.setattr("qe.scoring.jobs.WorkerPool", Counted)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {1, 2, 3})
    monkeypatch.delenv("QE_THREADS", raising=False)
    command = ["score", "--model", str(demo_model), "--input", str(demo_run.output / "data" / "new.tsv")]
    assert exit_code(*command, "--output", tmp_path / "scores.tsv", "--chunk", "200", "--quiet", *asked) == 0
    assert [number for number in started if number > 1] == [expected] * (expected > 1)
