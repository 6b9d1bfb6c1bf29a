"""RunState: what an output directory knows of its run, so that a killed one can go on."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from features.core.errors import InputError
from features.core.files import atomic_file


@dataclass
class RunState:
    """What an output directory knows of its run: `state.json` and the study's journal."""

    output: Path
    fingerprint: str
    run_id: str | None = None

    @property
    def journal(self) -> Path:
        return self.output / "study.journal"

    @classmethod
    def open(cls, output: Path, fingerprint: str, resume: bool, overwrite: bool) -> "RunState":
        """The state to go on from. Raises InputError where going on, or starting anew, would lose work."""
        path = output / "state.json"
        if output.exists() and not output.is_dir():
            raise InputError("is a file, not a directory", where=output)
        found = json.loads(path.read_text("utf-8")) if path.is_file() else None
        if found and resume:
            if found["fingerprint"] != fingerprint:
                raise InputError(
                    "holds a study of other data, features or settings, so it cannot be resumed",
                    where=output,
                    remedy="choose another --output, or start anew with --overwrite",
                )
            return cls(output, fingerprint, found["run_id"])
        if found and not found["finished"] and not overwrite:
            raise InputError(
                "holds an unfinished run",
                where=output,
                remedy="go on with --resume, or start anew with --overwrite",
            )
        state = cls(output, fingerprint)
        shutil.rmtree(state.journal, ignore_errors=True)
        state.journal.unlink(missing_ok=True)
        return state

    def begin(self, run_id: str) -> None:
        self.run_id = run_id
        self._write(finished=False)

    def finish(self) -> None:
        self._write(finished=True)

    def _write(self, *, finished: bool) -> None:
        content = {"fingerprint": self.fingerprint, "run_id": self.run_id, "finished": finished}
        with atomic_file(self.output / "state.json") as temporary:
            temporary.write_text(json.dumps(content) + "\n", "utf-8")
