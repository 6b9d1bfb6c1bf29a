"""Limits of control groups and memory, as Linux writes them: version 2, version 1, inside a container."""

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from pathlib import Path

import pytest

from features.basics.threads import cpu_quota, memory_left, own_memory

MIB = 1 << 20


def system(root: Path, files: dict[str, str]) -> Path:
    """A file system with these files; 8 GiB of memory available."""
    for name, text in {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    8388608 kB\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(system(tmp_path, {})) is None and memory_left(tmp_path) == 8 << 30


def test_nothing_is_known_of_a_system_that_says_nothing(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None and memory_left(tmp_path) is None and own_memory(tmp_path) == 0


def test_version_2_has_the_smallest_limit_on_the_way_up(tmp_path: Path) -> None:
    """systemd's slice allows 4 processors, the unit in it 1.5; memory is limited above, and partly cached."""
    root = system(tmp_path, {
        "proc/self/cgroup": "0::/user.slice/job.service\n",
        "sys/fs/cgroup/user.slice/cpu.max": "400000 100000\n",
        "sys/fs/cgroup/user.slice/memory.max": f"{600 * MIB}\n",
        "sys/fs/cgroup/user.slice/memory.current": f"{500 * MIB}\n",
        "sys/fs/cgroup/user.slice/memory.stat": f"anon 1\nfile 2\ninactive_file {50 * MIB}\n",
        "sys/fs/cgroup/user.slice/job.service/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/user.slice/job.service/memory.max": "max\n",
    })  # fmt: skip
    assert cpu_quota(root) == 1.5 and memory_left(root) == 150 * MIB


def test_version_2_without_limits(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}
    assert cpu_quota(system(tmp_path, files)) is None


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_version_1(tmp_path: Path, folder: str) -> None:
    """As Docker mounts it: /proc has the host's path, the container's own group is the mount."""
    root = system(tmp_path, {
        "proc/self/cgroup": "4:memory:/docker/1f\n2:cpu,cpuacct:/docker/1f\n1:name=systemd:/docker/1f\n",
        f"sys/fs/cgroup/{folder}/cpu.cfs_quota_us": "200000\n",
        f"sys/fs/cgroup/{folder}/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{300 * MIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{100 * MIB}\n",
        "sys/fs/cgroup/memory/memory.stat": f"cache 1\ninactive_file 7\ntotal_inactive_file {20 * MIB}\n",
    })  # fmt: skip
    assert cpu_quota(root) == 2 and memory_left(root) == 220 * MIB


def test_version_1_without_limits(tmp_path: Path) -> None:
    root = system(tmp_path, {
        "proc/self/cgroup": "4:memory:/\n2:cpu:/\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
    })  # fmt: skip
    assert cpu_quota(root) is None and memory_left(root) == 8 << 30


def test_the_memory_of_this_process() -> None:
    """Pages mapped for this alone: what malloc has free already would not count."""
    before = own_memory()
    with mmap(-1, 64 * MIB, flags=MAP_PRIVATE | MAP_ANONYMOUS) as pages:
        pages.write(b"x" * len(pages))
        assert before > 0 and own_memory() - before >= 60 * MIB
