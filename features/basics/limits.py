"""Limits of this process on Linux: control groups and free memory. Containers and job schedulers set control
groups.
"""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
_CONTROLLERS = {"cpu": ("cpu", "cpu,cpuacct", "cpuacct,cpu"), "memory": ("memory",)}  # folders of version 1


def cpu_quota(root: Path = ROOT) -> float | None:
    """Processor time that the control groups grant, in processors; None without a limit."""
    quotas = []
    for folder in _groups("cpu", root):
        limit, period = _version_2(folder) or _version_1(folder)
        if limit > 0 and period > 0:
            quotas.append(limit / period)
    return min(quotas, default=None)


def _version_2(folder: Path) -> tuple[float, float] | None:
    words = _text(folder / "cpu.max").split()
    return (float(words[0]), float(words[1])) if len(words) == 2 and words[0] != "max" else None


def _version_1(folder: Path) -> tuple[float, float]:
    return _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")


def memory_left(root: Path = ROOT) -> int | None:
    """Bytes that this process and its children may still take; None if the system does not say. Files that
    are cached can go, and count as free.
    """
    known = [_available(root)]
    for folder in _groups("memory", root):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes")
        if limit > 0:
            known.append(max(0, int(limit - used + _cached(folder))))
    return min((value for value in known if value is not None), default=None)


def own_memory(root: Path = ROOT) -> int:
    """Bytes of memory that this process shares with no file; 0 if the system does not say."""
    words = _lines(root / "proc/self/status").get("RssAnon", "0").split()
    return 1024 * int(words[0])


def _available(root: Path) -> int | None:
    words = _lines(root / "proc/meminfo").get("MemAvailable", "").split()
    return 1024 * int(words[0]) if words else None


def _cached(folder: Path) -> float:
    pairs = (line.split() for line in _text(folder / "memory.stat").splitlines())
    values = {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}
    return values.get("total_inactive_file", values.get("inactive_file", 0.0))


def _groups(controller: str, root: Path) -> Iterator[Path]:
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, names, path = line.split(":", 2)
        if number == "0" and not names:
            yield from _upwards(root / "sys/fs/cgroup", path)
        elif controller in names.split(","):
            for name in _CONTROLLERS[controller]:
                yield from _upwards(root / "sys/fs/cgroup" / name, path)


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    folder = mount / path.strip("/")
    while folder != mount and mount in folder.parents:
        yield folder
        folder = folder.parent
    yield mount


def _lines(path: Path) -> dict[str, str]:
    return {
        name: text.strip() for name, _, text in (line.partition(":") for line in _text(path).splitlines())
    }


def _number(path: Path) -> float:
    text = _text(path).strip()
    return float(text) if text.lstrip("-").isdigit() else 0.0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
