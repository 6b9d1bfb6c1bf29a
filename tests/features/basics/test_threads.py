"""Work side by side: results in order, errors passed on, ranges that cover everything once."""

import os
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.basics import threads
from features.basics.threads import apply_to_each, cores, even_ranges, processes, side_by_side
from tests.factories import refuses
from tests.patience import PATIENCE


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """64 processors, all of which this process may use, and much memory."""
    monkeypatch.delenv("QE_THREADS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(threads, "cpu_quota", lambda: None)
    monkeypatch.setattr(threads, "memory_left", lambda: 1 << 40)
    return monkeypatch


def test_two_of_64_cores_by_affinity(machine: pytest.MonkeyPatch) -> None:
    machine.setattr("os.sched_getaffinity", lambda _: {5, 63})
    assert cores() == processes(1 << 20) == 2


@pytest.mark.parametrize(("quota", "expected"), [(2.0, 2), (1.5, 2), (0.1, 1), (100.0, 64)])
def test_cores_by_quota(machine: pytest.MonkeyPatch, quota: float, expected: int) -> None:
    machine.setattr(threads, "cpu_quota", lambda: quota)
    assert cores() == processes(1 << 20) == expected


@pytest.mark.parametrize(("left", "expected"), [(10 << 30, 10), (1 << 10, 1), (1 << 40, 64)])
def test_processes_fit_into_memory(machine: pytest.MonkeyPatch, left: int, expected: int) -> None:
    machine.setattr(threads, "memory_left", lambda: left)
    assert processes(1 << 30) == expected and cores() == 64


@pytest.mark.parametrize("value", ["", "0", "-1", "two", "1.5", "²", "99999999"])
def test_a_wrong_qe_threads_is_told(machine: pytest.MonkeyPatch, value: str) -> None:
    machine.setenv("QE_THREADS", value)
    refuses(f"QE_THREADS must be a whole number from 1 .* '{value}'", cores)


def test_the_affinity_of_a_process_counts() -> None:
    """A process that may use one processor, however many the machine has."""
    script = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    script += "from features.basics.threads import cores; print(cores())"
    environment = {name: value for name, value in os.environ.items() if name != "QE_THREADS"}
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, env=environment)
    assert done.stdout.strip() == b"1"


def test_results_are_in_order_and_work_overlaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    meeting = threading.Barrier(2, timeout=PATIENCE)  # broken, an error, unless two are there at a time

    def work(number: int) -> int:
        meeting.wait()
        return number * number

    assert list(side_by_side(work, range(40))) == [k * k for k in range(40)]


def test_items_are_not_taken_far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 1)
    begun: list[int] = []
    results = side_by_side(begun.append, range(100))
    next(results)
    assert len(begun) <= 5
    results.close()  # type: ignore[attr-defined]


def test_an_error_reaches_the_caller() -> None:
    def fail(number: int) -> None:
        if number == 3:
            raise ValueError("three")

    refuses("three", apply_to_each, fail, range(10), error=ValueError)


@pytest.mark.slow
@given(work=st.lists(st.integers(0, 100), max_size=60), smallest=st.integers(1, 50))
def test_ranges_cover_every_item_once_and_evenly(work: list[int], smallest: int) -> None:
    ranges = even_ranges(np.array(work), smallest)
    assert [k for low, high in ranges for k in range(low, high)] == list(range(len(work)))
    assert all(low < high for low, high in ranges)
    assert all(before[1] == after[0] for before, after in pairwise(ranges))
    if ranges:
        share = sum(work) / max(1, min(4 * threads.cores(), sum(work) // smallest))
        assert all(sum(work[low:high]) <= share + 2 * max(work) for low, high in ranges)


def test_qe_threads_decides(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("QE_THREADS", "3")
    assert cores() == processes(1 << 20) == 3
