"""Worker processes: what they raise, print and inherit, and how they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import lightgbm
import numpy as np
import psutil
import pytest

from features.basics.errors import InputError
from features.basics.workers import WorkerDied, WorkerPool
from tests.factories import refuses
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[3]


def nothing() -> None:
    pass


def begin(name: str) -> None:
    os.environ["BEGUN"] = name
    print("what a library prints")


def begun(suffix: str) -> str:
    return os.environ["BEGUN"] + suffix


def number() -> int:
    return os.getpid()


def refuse() -> None:
    raise InputError("cannot be read", location="in.tsv")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def slept(seconds: float) -> None:
    time.sleep(seconds)


def predicted() -> float:
    """By the threads of OpenMP."""
    rows = np.random.default_rng(0).normal(size=(1000, 4))
    model = lightgbm.LGBMRegressor(n_estimators=5, n_jobs=2, verbosity=-1).fit(rows, rows[:, 0])
    return float(np.sum(model.predict(rows)))


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@pytest.mark.slow
def test_each_process_begins_once_and_answers() -> None:
    with WorkerPool(2, begin, ("a",)) as pool:
        answers = [pool.submit(begun, f"{k}") for k in range(20)]
        assert [answer.result() for answer in answers] == [f"a{k}" for k in range(20)]
        others = {pool.submit(number).result() for _ in range(5)}
    assert os.getpid() not in others and len(others) <= 2
    assert not any(psutil.pid_exists(pid) for pid in others)


@pytest.mark.slow
def test_threads_of_libraries_that_the_parent_has_started_are_waited_for_by_nobody() -> None:
    here = predicted()
    with WorkerPool(1, nothing, ()) as pool:
        assert pool.submit(predicted).result(timeout=PATIENCE) == here


@pytest.mark.slow
def test_what_is_raised_arrives_and_the_process_goes_on() -> None:
    with WorkerPool(1, nothing, ()) as pool:
        one = pool.submit(number).result()
        with pytest.raises(InputError, match=r"^in\.tsv: cannot be read") as caught:
            pool.submit(refuse).result()
        assert "in refuse" in caught.value.__notes__[0]
        assert pool.submit(number).result() == one


@pytest.mark.slow
def test_a_death_is_told() -> None:
    with WorkerPool(1, nothing, ()) as pool, pytest.raises(WorkerDied):
        pool.submit(die).result()


def test_an_exception_in_the_block_ends_what_is_being_done_at_once() -> None:
    start, before = time.monotonic(), children()
    with pytest.raises(KeyboardInterrupt), WorkerPool(2, nothing, ()) as pool:
        for _ in range(8):
            pool.submit(slept, PATIENCE)
        processes = [pool.submit(number)]
        while children() == before:
            time.sleep(0.05)
        raise KeyboardInterrupt
    assert time.monotonic() - start < PATIENCE / 2
    assert all(waiting.cancelled() for waiting in processes) and children() == before


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_run_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "from features.basics.workers import WorkerPool\n"
        "print('begun')\n"
        "with WorkerPool(2, os.getpid, ()) as pool:\n"
        "    print(pool.submit(os.getcwd).result())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["begun", str(tmp_path)] and done.stderr == ""


@pytest.mark.slow
def test_what_cannot_begin_says_so() -> None:
    with WorkerPool(1, refuse, ()) as pool:
        for _ in range(2):
            refuses("cannot be read", pool.submit(number).result)
