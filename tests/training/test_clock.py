"""Clock: parts within parts count once, and all of them are the whole."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from qe.training import run_state as module
from qe.training.run_state import Clock


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """(seconds, CPU seconds), one for every look at the time, in the order of looking."""
    given: list[tuple[float, float]] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: given[0][0]))
    monkeypatch.setattr(module, "os", SimpleNamespace(times=lambda: (given.pop(0)[1], 0.0, 0.0, 0.0)))
    return given


def test_a_part_within_a_part_counts_for_itself_alone(times: list[tuple[float, float]]) -> None:
    times += [(0, 10), (1, 12), (4, 18), (6, 18.5), (7, 19), (10, 20)]
    clock = Clock()
    with clock.part("search"):
        with clock.part("features"):
            pass
        with clock.part("features"):
            pass
    assert clock.parts() == [
        {"part": "search", "seconds": 1 + 2 + 3, "cpu_seconds": 2 + 0.5 + 1},
        {"part": "features", "seconds": 3 + 1, "cpu_seconds": 6 + 0.5},
    ]


@pytest.mark.slow
def test_finished_child_processes_count_and_failures_end_a_part() -> None:
    clock = Clock()
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    with pytest.raises(ValueError, match="halfway"), clock.part("build"):
        subprocess.run([sys.executable, "-c", busy], check=True)
        raise ValueError("halfway")
    (entry,) = clock.parts()
    assert entry["part"] == "build" and float(entry["cpu_seconds"]) >= 0.19
