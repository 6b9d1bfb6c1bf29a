"""How a verb starts: what it loads, which no busy machine changes, and the CPU seconds that it takes."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from qe.cli._verbs import module_of, verbs
from tests.shown import ROOT

HEAVY = {
    "typer",
    "numpy",
    "pandas",
    "scipy",
    "sklearn",
    "numba",
    "mlflow",
    "pydantic_core",
    "importlib.metadata",
}
MOST = 0.25  # CPU seconds: four times what `qe --help` takes; what one of HEAVY alone would add


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    at_exit = "import atexit, sys; atexit.register(lambda: print('\\n', *sys.modules))"
    script = f"{at_exit}; from qe.cli import main; main()"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.splitlines()[-1].split())


def seconds(*arguments: str) -> float:
    """CPU seconds, user and system, of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "qe", *arguments], capture_output=True, check=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_the_first_help_loads_neither_a_verb_nor_a_library() -> None:
    modules = loaded("--help")
    assert "qe.cli._verbs" in modules
    assert not modules & {*HEAVY, "argparse", "rich", *map(module_of, verbs())}


@pytest.mark.slow
@pytest.mark.parametrize("verb", verbs())
def test_the_help_of_a_verb_loads_no_library_of_its_work(verb: str) -> None:
    modules = loaded(verb, "--help")
    assert module_of(verb) in modules
    assert not modules & HEAVY


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="times of children are POSIX's")
def test_the_first_help_takes_little_time() -> None:
    seconds("--help")  # compiled files, and what the disk has to read, are there now
    assert min(seconds("--help") for _ in range(5)) < MOST


@pytest.mark.slow
def test_a_comparison_of_files_loads_neither_tables_nor_learners(tmp_path: Path) -> None:
    for name, line in {"reference": "a small house", "a": "a small home", "b": "the house"}.items():
        (tmp_path / name).write_text(f"{line}\n" * 5, "utf-8")
    systems = [f"--system={name}={tmp_path / name}" for name in "ab"]
    modules = loaded("compare", "--references", str(tmp_path / "reference"), *systems, "--samples", "100")
    assert "qe.systems.comparison" in modules and not modules & {"pandas", "sklearn"}
