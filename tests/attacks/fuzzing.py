"""Fuzzing of what loads stored files: a folder, what uses it, and a process that may die of it.

A target copies its folder, changes one of the files, and uses it. What is refused (InputError) and what is
accepted is counted; any other exception, the death of the process and its silence are faults.
"""

import contextlib
import logging
import multiprocessing
import os
import random
import shutil
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from features.basics.errors import InputError
from features.storage.checksums import regular_files
from tests.attacks.mutations import mutated

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds of work (not of waiting: machines are busy) on one case, after which it hangs
HANGS = 600.0  # seconds without work or answer, after which it waits for what never comes
BEGINNING = "before the first case"
# What is kept and put back around a case, beside the file that is changed: resealing writes them.
SEALS = ("model.json", "manifest.json", "resources/manifest.json", "annotators.json")


@dataclass(frozen=True)
class Target:
    """Something that is loaded from a folder.

    folder  as it was saved
    use     module-level function of (folder, *arguments): loads it and works with it
    reseal  module-level function that brings checksums up to date; None: there are none, or they stay
    within  prefix of the files that are changed
    """

    name: str
    folder: Path
    use: Callable[..., object]
    arguments: tuple[Any, ...] = ()
    reseal: Callable[[Path], None] | None = None
    within: str = ""


@dataclass
class Outcome:
    """What came of the cases of a target."""

    refused: int = 0
    accepted: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.refused + self.accepted + len(self.faults)

    def __str__(self) -> str:
        counts = f"{self.cases:6} cases, {self.refused:6} refused, {self.accepted:6} accepted"
        return f"{counts}, {len(self.faults)} faults"


def fuzz(target: Target, scratch: Path, *, seconds: float, most: int = 10**9, seed: int = 0) -> Outcome:
    """Tries mutations in processes of their own until time or cases run out; loading the code counts not."""
    outcome, number, left = Outcome(), 0, seconds
    while left > 0 and number < most:
        process = _Process(target, scratch, seed, number, most)
        number, spent = process.watched(outcome, left)
        left -= spent
    return outcome


class _Process:
    """Tries cases, and tells of them; forked from one that has loaded the code and nothing else."""

    def __init__(self, target: Target, scratch: Path, seed: int, first: int, most: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.attacks.readers", "tests.attacks.targets"])
        self.ear, mouth = context.Pipe(duplex=False)
        self.process = context.Process(target=_run, args=(mouth, target, scratch, seed, first, most))
        with contextlib.chdir(ROOT):  # where the server finds our `tests`, not those of some library
            self.process.start()
        mouth.close()
        self.following, self.scratch = first, scratch

    def watched(self, outcome: Outcome, seconds: float) -> tuple[int, float]:
        """Counts what the process says until it ends or time is over: (number of the next case, seconds)."""
        begin, case = time.monotonic(), BEGINNING
        try:
            while (said := self._heard()) is not None:
                if isinstance(said, float):
                    begin = said
                elif isinstance(said, tuple):
                    self.following, case = said[0] + 1, said[1]
                else:
                    _count(outcome, said, case)
                    if time.monotonic() - begin > seconds:
                        break
            else:
                outcome.faults.append(f"{case}: no answer after {PATIENCE:.0f} s of work or {HANGS:.0f} s")
        except EOFError:
            self.process.join()
            if case == BEGINNING:
                raise RuntimeError(
                    f"{_end(self.process.exitcode or 0)} {case}; its last words: {self._last_words()}"
                ) from None
            if self.process.exitcode:
                outcome.faults.append(f"{case}: {_end(self.process.exitcode)}")
            else:
                self.following = 10**9
        self.process.kill()
        self.process.join()
        return self.following, time.monotonic() - begin

    def _heard(self) -> Any:
        """What the process says next; None if it works on and on. Raises EOFError when it has ended."""
        before, deadline = self._worked(), time.monotonic() + HANGS
        while not self.ear.poll(0.5):
            if self._worked() - before > PATIENCE or time.monotonic() > deadline:
                return None
        return self.ear.recv()

    def _last_words(self) -> str:
        output = self.scratch / "output"
        return output.read_text(errors="replace")[-2000:] if output.exists() else "none"

    def _worked(self) -> float:
        """CPU seconds."""
        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.NoSuchProcess:
            return 0.0
        return float(times.user + times.system)


def _count(outcome: Outcome, said: str, case: str) -> None:
    if said == "refused":
        outcome.refused += 1
    elif said == "accepted":
        outcome.accepted += 1
    else:
        outcome.faults.append(f"{case}: {said}")


def _end(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _run(mouth: Connection, target: Target, scratch: Path, seed: int, first: int, most: int) -> None:
    """The cases of a target, one after the other: a float when it begins, then per case (number, what is
    done) and what came of it.
    """
    with (scratch / "output").open("a") as output:
        os.dup2(output.fileno(), 1), os.dup2(output.fileno(), 2)
    os.environ["QE_CACHE_DIR"] = str(scratch / "cache")
    logging.disable()
    warnings.simplefilter("ignore")
    copy = scratch / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(target.folder, copy)
    files = [name for name in regular_files(copy) if name.startswith(target.within)]
    target.use(copy, *target.arguments)  # as it was saved
    mouth.send(time.monotonic())
    for number in range(first, most):
        rng = random.Random(f"{seed} {target.name} {number}")
        name = rng.choice(files)
        before = {path: (copy / path).read_bytes() for path in {name, *SEALS} if (copy / path).is_file()}
        content, done = mutated(name, before[name], rng)
        (copy / name).write_bytes(content)
        mouth.send((number, f"{target.name} {number} {name} ({done})"))
        mouth.send(_tried(target, copy))
        for path, old in before.items():
            (copy / path).write_bytes(old)


def _tried(target: Target, copy: Path) -> str:
    """What comes of one case."""
    if target.reseal is not None:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            target.reseal(copy)  # what cannot be read at all keeps its checksums
    try:
        target.use(copy, *target.arguments)
    except InputError:
        return "refused"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename.startswith((f"{ROOT}/features", f"{ROOT}/qe"))]
        place = f"{Path(own[-1].filename).relative_to(ROOT)}:{own[-1].lineno}" if own else "?"
        return f"{type(error).__name__}: {str(error)[:200]} ({place})"
    return "accepted"


def summed_up(faults: list[str]) -> Counter[str]:
    """Faults by what they say, without the case."""
    return Counter(fault.partition("): ")[2] or fault for fault in faults)
