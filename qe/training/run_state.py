"""RunState: what an output directory knows of its run, so that a killed one can go on."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.damage import Damaged, damage_reported, read_json
from features.storage.files import atomic_file
from features.storage.outputs import check_apart

STATE = "state.json"
JOURNAL = "study.journal"
# What a run writes into its folder.
WRITTEN = (
    STATE, JOURNAL, "model", "model.txt", "plots", "predictions.parquet", "predictions.tsv",
    "predictions.out-of-fold.tsv", "report.json", "trials.tsv", "words",
)  # fmt: skip


@dataclass
class RunState:
    """What an output directory knows of its run: `state.json` and the study's journal.

    earlier  the state of a run to go on with; None for one to start anew
    resumes  whether it goes on with what is there; otherwise only a finished run of the same may be there
    replace  whether a finished run of something else makes room
    command  fingerprint of everything that was asked for
    """

    output: Path
    earlier: dict[str, Any] | None = None
    fingerprint: str = ""
    run_id: str | None = None
    replace: bool = False
    resumes: bool = True
    command: str = ""

    @property
    def unchanged(self) -> bool:
        """Whether the run is there, finished, and was asked for in the same way."""
        return self.earlier is not None and _finished(self.output, self.earlier, self.command)

    @property
    def journal(self) -> Path:
        return self.output / JOURNAL

    @classmethod
    def open(cls, output: Path, resume: bool, overwrite: bool, *, keep_same: bool = False) -> "RunState":
        """The state to go on from. Raises InputError if that, or to start anew, would lose work.

        keep_same  whether a finished run that was asked for in the same way stays, even to `overwrite`
        """
        there = _read(output / STATE)
        if there is None or (overwrite and not resume and not (keep_same and there["finished"])):
            return cls(output)
        if not resume and not there["finished"]:
            raise _there(output, "an unfinished")
        return cls(output, there, replace=overwrite and not resume, resumes=resume)

    def claim(self, fingerprint: str, inputs: Iterable[Path], command: str = "") -> None:
        """Goes on with the run that was here, or makes room for a new one; an `unchanged` one stays.

        Raises InputError if it was a run of something else, or would replace what it reads.
        """
        inputs = list(inputs)
        splits = (path.name for path in inputs if path.match("predictions.*.tsv"))
        for name in (*WRITTEN, *splits):
            check_apart(self.output / name, inputs)
        self.fingerprint, self.command = fingerprint, command
        if self.replace and not self.unchanged:
            self.earlier = None
        if self.earlier is None:
            shutil.rmtree(self.journal, ignore_errors=True)
            self.journal.unlink(missing_ok=True)
            return
        if self.earlier["fingerprint"] != fingerprint and not self.resumes:
            raise _there(self.output, "a finished")
        if self.earlier["fingerprint"] != fingerprint:
            raise InputError(
                "holds a study of other data, features or settings, so it cannot be resumed",
                location=self.output,
                remedy="choose another --output, or start anew with --overwrite",
            )
        if not self.resumes and not self.unchanged:
            raise _there(self.output, "a finished")
        self.run_id = self.earlier["run_id"]

    def begin(self, run_id: str | None) -> None:
        self.run_id = run_id
        self._write(finished=False)

    def finish(self) -> None:
        self._write(finished=True)

    def _write(self, *, finished: bool) -> None:
        content = {"fingerprint": self.fingerprint, "run_id": self.run_id, "finished": finished}
        content["command"] = self.command
        with atomic_file(self.output / STATE) as temporary:
            temporary.write_text(json.dumps(content) + "\n", "utf-8")


def _there(output: Path, state: str) -> InputError:
    remedy = "go on with --resume, or start anew with --overwrite"
    return InputError(f"holds {state} run", location=output, remedy=remedy)


def _finished(output: Path, earlier: Mapping[str, Any], command: str) -> bool:
    damage_reported = all((output / name).exists() for name in ("report.json", "model"))
    return bool(command) and earlier["finished"] and earlier.get("command") == command and damage_reported


def _read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    remedy = "start anew in another --output"
    content = read_json("the state of the run", path, remedy)
    with damage_reported("the state of the run", path, remedy):
        kinds = {"fingerprint": str, "run_id": str | None, "finished": bool}
        wrong = [key for key, kind in kinds.items() if not isinstance(content[key], kind)]
        if wrong:
            raise Damaged(f"`{wrong[0]}` is {content[wrong[0]]!r}")
    return content
