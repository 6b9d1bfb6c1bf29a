"""The state of a run in its output directory, so that a killed one can continue, and its clock."""

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import atomic_file
from features.storage.outputs import check_no_overlap

STATE = "state.json"
JOURNAL = "study.journal"
# The files of a run in its folder.
WRITTEN = (
    STATE, JOURNAL, "model", "model.txt", "plots", "predictions.parquet", "predictions.tsv",
    "predictions.out-of-fold.tsv", "report.json", "trials.tsv", "words",
)  # fmt: skip


@dataclass
class RunState:
    """The run in an output directory: `state.json` and the study's journal.

    resumes   whether an unfinished run is continued; otherwise only the same finished run may be there
    replace   whether another finished run is overwritten
    """

    output: Path
    previous: dict[str, Any] | None = None
    fingerprint: str = ""
    run_id: str | None = None
    replace: bool = False
    resumes: bool = True
    command: str = ""

    @property
    def unchanged(self) -> bool:
        if self.previous is None or not self.command or not self.previous["finished"]:
            return False
        complete = all((self.output / name).exists() for name in ("report.json", "model"))
        return complete and self.previous.get("command") == self.command

    @classmethod
    def open(cls, output: Path, resume: bool, overwrite: bool, *, keep_same: bool = False) -> "RunState":
        """The state to continue from. Raises InputError if that, or a new start, would lose work."""
        previous, path = None, output / STATE
        if path.exists():
            remedy = "start again in another --output"
            previous = read_json("the state of the run", path, remedy)
            with damage_reported("the state of the run", path, remedy):
                kinds = {"fingerprint": str, "run_id": str | None, "finished": bool}
                for key, kind in kinds.items():
                    if not isinstance(previous[key], kind):
                        raise Damaged(f"`{key}` is {previous[key]!r}")
        if previous is None or (overwrite and not resume and not (keep_same and previous["finished"])):
            return cls(output)
        if not resume and not previous["finished"]:
            raise _existing_run(output, "an unfinished")
        return cls(output, previous, replace=overwrite and not resume, resumes=resume)

    def claim(self, fingerprint: str, inputs: Iterable[Path], command: str = "") -> None:
        """Continues the run, or makes room for a new one. InputError if it was one of something else."""
        inputs = list(inputs)
        splits = (path.name for path in inputs if path.match("predictions.*.tsv"))
        for name in (*WRITTEN, *splits):
            check_no_overlap(self.output / name, inputs)
        self.fingerprint, self.command = fingerprint, command
        if self.replace and not self.unchanged:
            self.previous = None
        if self.previous is None:
            shutil.rmtree(self.output / JOURNAL, ignore_errors=True)
            (self.output / JOURNAL).unlink(missing_ok=True)
            return
        if self.previous["fingerprint"] != fingerprint and not self.resumes:
            raise _existing_run(self.output, "a finished")
        if self.previous["fingerprint"] != fingerprint:
            raise InputError(
                "holds a study of other data, features or settings, so it cannot be resumed",
                location=self.output,
                remedy="choose another --output, or start again with --overwrite",
            )
        if not self.resumes and not self.unchanged:
            raise _existing_run(self.output, "a finished")
        self.run_id = self.previous["run_id"]

    def write(self, *, finished: bool) -> None:
        content = {"fingerprint": self.fingerprint, "run_id": self.run_id, "finished": finished}
        content["command"] = self.command
        with atomic_file(self.output / STATE) as temporary:
            temporary.write_text(json.dumps(content) + "\n", "utf-8")


def _existing_run(output: Path, state: str) -> InputError:
    remedy = "continue with --resume, or start again with --overwrite"
    return InputError(f"holds {state} run", location=output, remedy=remedy)


@dataclass(frozen=True, eq=False)
class Clock:
    """Seconds by part of the work; a part within a part counts for itself only.

    >>> clock = Clock()
    >>> with clock.part("search"), clock.part("features"):
    ...     pass
    >>> sorted(entry["part"] for entry in clock.parts())
    ['features', 'search']
    """

    progress: Progress = silent
    _spent: dict[str, list[float]] = field(default_factory=dict, init=False, repr=False)
    _open: list[str] = field(default_factory=list, init=False, repr=False)
    _last: list[float] = field(default_factory=list, init=False, repr=False)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._count()
        self._open.append(name)
        self.progress(name, 0, None)
        try:
            yield
        finally:
            self._count()
            self._open.pop()
            self.progress(name, 1, 1)

    def parts(self) -> list[dict[str, str | float]]:
        """`part`, `seconds` and `cpu_seconds` of every part, those with the most seconds first."""
        entries = sorted(self._spent.items(), key=lambda entry: -entry[1][0])
        return [
            {"part": name, "seconds": round(wall, 2), "cpu_seconds": round(processors, 2)}
            for name, (wall, processors) in entries
        ]

    def _count(self) -> None:
        now = time.perf_counter(), sum(os.times()[:4])
        if self._open:
            spent = self._spent.setdefault(self._open[-1], [0.0, 0.0])
            for i, (before, after) in enumerate(zip(self._last, now, strict=True)):
                spent[i] += after - before
        self._last[:] = now
