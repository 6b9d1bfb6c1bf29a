"""The summary of a scoring job: which model made the scores, of what, how, and with what outcome."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.damage import read_json, whole
from features.storage.files import atomic_file, sha256
from qe.models import description
from qe.models.versions import versions
from qe.scoring.jobs import ScoredFile

KIND = "scoring job"
SCHEMA = 1  # another number where a key goes, or means something else; more keys may come


@dataclass(frozen=True)
class JobSummary:
    """What a job is known by before it begins.

    model      as the user named it
    version    (name, version) in the registry, if it was named by it
    signed_by  the public key that the model was verified with
    options    that the user gave
    """

    model: str
    folder: Path
    identity: str
    inputs: Sequence[Path]
    output: Path
    options: Mapping[str, Any]
    begun: datetime
    version: tuple[str, str] | None = None
    signed_by: Path | None = None

    def content(self, done: ScoredFile) -> dict[str, Any]:
        """The whole summary, as JSON holds it."""
        ended = datetime.now(UTC)
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "model": self.model_told(),
            "packages": versions(),
            "inputs": [
                {"path": str(path), "bytes": path.stat().st_size, "sha256": sha256(path)}
                for path in self.inputs
            ],
            "output": {"path": str(self.output), "sha256": sha256(self.output)},
            "options": dict(self.options),
            **done.to_json(),
            "begun": self.begun.isoformat(timespec="seconds"),
            "ended": ended.isoformat(timespec="seconds"),
            "seconds": round((ended - self.begun).total_seconds(), 3),
        }

    def model_told(self) -> dict[str, Any]:
        """Which model it is: its name, its fingerprint, and name and version in the registry."""
        name, version = self.version or (None, None)
        return {
            "named": self.model,
            "name": description.read(self.folder).name,
            "registered": name,
            "version": version,
            "fingerprint": self.identity,
            "signed_by": None if self.signed_by is None else sha256(self.signed_by),
        }

    def write(self, path: Path, done: ScoredFile) -> None:
        """Writes the summary, whole or not at all."""
        content = json.dumps(self.content(done), indent=1, ensure_ascii=False)
        with atomic_file(path) as temporary:
            temporary.write_text(content + "\n", "utf-8")


def summary_of(path: Path, scored: Path, identity: str) -> Mapping[str, Any]:
    """What `write` wrote of a scored file.

    identity  of the model that must have made the scores

    Raises InputError for another kind of file, a summary of other scores, and scores of another model.
    """
    content = read_json("the summary", path, "write it again with `qe score --summary`")
    if content.get("kind") != KIND or content.get("schema") != SCHEMA:
        raise InputError(
            "is no summary of scores", where=path, remedy="give what `qe score --summary` writes"
        )
    with whole("the summary", path, "write it again with `qe score --summary`"):
        model, checksum = content["model"], content["output"]["sha256"]
        if checksum != sha256(scored):
            raise InputError(
                f"is the summary of other scores than {scored}", where=path, remedy="give the one beside them"
            )
        if model["fingerprint"] != identity:
            raise InputError(
                f"was scored by another model: {model['name']}, fingerprint {model['fingerprint'][:12]}",
                where=scored,
                remedy=f"name that model; the given one has {identity[:12]}",
            )
    return content
