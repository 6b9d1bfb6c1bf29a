"""Work side by side, and what the machine leaves for it: quotas of control groups, memory."""

import os
import subprocess
import sys
import threading
from itertools import pairwise
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.basics import threads
from features.basics.threads import (
    apply_to_each,
    cores,
    cpu_quota,
    even_ranges,
    memory_left,
    own_memory,
    processes,
    side_by_side,
)
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
    refuses(f"^QE_THREADS .*'{value}'", cores)


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


MIB = 1 << 20


def system(root: Path, files: dict[str, str]) -> Path:
    """A file system with these files; 8 GiB of memory available."""
    for name, text in {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    8388608 kB\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# Files of a system -> processors, memory left. Those of version 1 are as Docker mounts them: /proc has the
# host's path, the container's own group is the mount.
VERSION_1 = {
    "proc/self/cgroup": "4:memory:/docker/1f\n2:cpu,cpuacct:/docker/1f\n1:name=systemd:/docker/1f\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{300 * MIB}\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{100 * MIB}\n",
    "sys/fs/cgroup/memory/memory.stat": f"cache 1\ninactive_file 7\ntotal_inactive_file {20 * MIB}\n",
}
QUOTA, PERIOD = "sys/fs/cgroup/{}/cpu.cfs_quota_us", "sys/fs/cgroup/{}/cpu.cfs_period_us"
SYSTEMS: dict[str, tuple[dict[str, str], float | None, int]] = {
    "no control groups": ({}, None, 8 << 30),
    "the smallest limit on the way up": ({
        "proc/self/cgroup": "0::/user.slice/job.service\n",
        "sys/fs/cgroup/user.slice/cpu.max": "400000 100000\n",
        "sys/fs/cgroup/user.slice/memory.max": f"{600 * MIB}\n",
        "sys/fs/cgroup/user.slice/memory.current": f"{500 * MIB}\n",
        "sys/fs/cgroup/user.slice/memory.stat": f"anon 1\nfile 2\ninactive_file {50 * MIB}\n",
        "sys/fs/cgroup/user.slice/job.service/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/user.slice/job.service/memory.max": "max\n",
    }, 1.5, 150 * MIB),
    "version 2 without limits": (
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None, 8 << 30
    ),
    **{
        f"version 1, {folder}": (
            {**VERSION_1, QUOTA.format(folder): "200000\n", PERIOD.format(folder): "100000\n"}, 2, 220 * MIB
        )
        for folder in ("cpu", "cpu,cpuacct")
    },
    "version 1 without limits": ({
        **VERSION_1, QUOTA.format("cpu"): "-1\n", PERIOD.format("cpu"): "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }, None, 8 << 30),
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_limits_of_control_groups(name: str, tmp_path: Path) -> None:
    files, quota, memory = SYSTEMS[name]
    assert (cpu_quota(system(tmp_path, files)), memory_left(tmp_path)) == (quota, memory)


def test_nothing_is_known_of_a_system_that_says_nothing(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None and memory_left(tmp_path) is None and own_memory(tmp_path) == 0


def test_the_memory_of_this_process() -> None:
    """Pages mapped for this alone: what malloc has free already would not count."""
    before = own_memory()
    with mmap(-1, 64 * MIB, flags=MAP_PRIVATE | MAP_ANONYMOUS) as pages:
        pages.write(b"x" * len(pages))
        assert before > 0 and own_memory() - before >= 60 * MIB
