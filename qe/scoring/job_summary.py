"""The summary of a scoring job: model, input, settings and outcome."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from features.basics.errors import InputError
from features.storage.checksums import checksum
from features.storage.damage import damage_reported, read_json
from features.storage.files import atomic_file, sha256
from qe.display import output_schemas
from qe.display.output_schemas import SCHEMA
from qe.models.versions import versions
from qe.scoring.scored_file import ScoredFile

KIND = "scoring job"
METADATA = b"qe"  # key of a Parquet file's own metadata
_AGAIN = "score the file again, or remove it"


class Told(Protocol):
    """What makes scores: a model, or several by routes."""

    @property
    def identity(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...

    def in_table(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class JobSummary:
    """What a job is known by before it begins.

    inputs    files, as they were when the job began
    options   that the user gave
    place     where the summary is written; None: nowhere
    named     a path as the user knows it
    parallel  whether the files are two parallel texts
    """

    model: Told
    inputs: Sequence[Path]
    output: Path
    options: Mapping[str, Any]
    begun: datetime
    place: Path | None = None
    named: Callable[[Path], str] = str
    parallel: bool = False

    def content(self, done: ScoredFile) -> dict[str, Any]:
        """The whole summary, as JSON holds it."""
        ended = datetime.now(UTC)
        content = {
            "kind": KIND,
            "model": self.model.to_json(),
            "packages": versions(),
            "inputs": inputs_told(self.inputs, self.parallel, self.named),
            "output": {"path": self.named(self.output), "sha256": sha256(self.output)},
            "options": dict(self.options),
            **done.to_json(),
            "begun": self.begun.isoformat(timespec="seconds"),
            "ended": ended.isoformat(timespec="seconds"),
            "seconds": round((ended - self.begun).total_seconds(), 3),
        }
        return output_schemas.stamped("summary", content)

    def write(self, done: ScoredFile) -> None:
        """Write the summary, whole or not at all.

        A summary of these very scores stays as it is.
        """
        if self.place is None or (done.unchanged and self._tells()):
            return
        content = json.dumps(self.content(done), indent=1, ensure_ascii=False)
        with atomic_file(self.place) as temporary:
            temporary.write_text(content + "\n", "utf-8")

    def _tells(self) -> bool:
        try:
            return self.place is not None and bool(summary_of(self.place, self.output, self.model.identity))
        except InputError:
            return False


def inputs_told(
    files: Sequence[Path], parallel: bool, named: Callable[[Path], str] = str
) -> list[dict[str, Any]]:
    """Path, size and checksum of each file of an input; of two parallel texts, which side it is."""
    sides = ("source", "target") if parallel else ()
    told: list[dict[str, Any]] = [
        {"path": named(path), "bytes": path.stat().st_size, "sha256": checksum(path)} for path in files
    ]
    for one, side in zip(told, sides, strict=False):
        one["side"] = side
    return told


def beside(scored: Path) -> Path:
    """The place of a scored file's summary unless it is put elsewhere."""
    return scored.with_name(f"{scored.name}.json")


def check_place(place: Path) -> None:
    """Raises InputError if something else than a summary is where one goes by default."""
    if place.exists() and not is_summary(place):
        raise InputError(
            "is in the way: the summary of the scores goes there",
            location=place,
            remedy="name another place by --summary FILE, or leave it out by --no-summary",
        )


def is_summary(path: Path) -> bool:
    """Whether a file is the summary of a scoring job."""
    try:
        content = read_json("the summary", path, _AGAIN)
    except InputError:
        return False
    return content.get("kind") == KIND


def table_metadata(
    model: Mapping[str, Any],
    files: Sequence[Path],
    parallel: bool,
    options: Mapping[str, Any],
    done: ScoredFile,
) -> bytes:
    """Metadata of the scores in a Parquet file.

    It holds all that equal jobs have in common, so that they give equal bytes; times and drift are the
    summary's alone.
    """
    content = {
        "schema": SCHEMA,
        "kind": KIND,
        "model": model,
        "packages": versions(),
        "inputs": [
            {name: one[name] for name in one if name != "path"} for one in inputs_told(files, parallel)
        ],
        "options": dict(options),
        **{name: value for name, value in done.to_json().items() if name in _IN_TABLES},
    }
    return json.dumps(content, ensure_ascii=False, sort_keys=True).encode()


_IN_TABLES = ("recipe", "rows", "scored", "reasons", "actions", "flagged")


def told_of(scored: Path) -> Mapping[str, Any] | None:
    """The record of how a scored file was made: its summary or metadata.

    None if nothing is known.

    Raises InputError for a summary beside it that is of other scores.
    """
    place = beside(scored)
    if place.is_file() and is_summary(place):
        return _checked(place, scored)
    return _own(scored)


def summary_of(path: Path, scored: Path, identity: str) -> Mapping[str, Any]:
    """What `write` wrote of a scored file.

    identity  of the model that must have made the scores

    Raises InputError for another kind of file, a summary of other scores, and scores of another model.
    """
    content = _checked(path, scored)
    check_model(content, scored, identity)
    return content


def check_model(told: Mapping[str, Any], scored: Path, identity: str) -> None:
    """Raises InputError if another model made the scores than the one of this fingerprint."""
    model = told["model"]
    if model["fingerprint"] != identity:
        raise InputError(
            f"was scored by another model: {model['name']}, fingerprint {model['fingerprint'][:12]}",
            location=scored,
            remedy=f"name that model; the given one has {identity[:12]}",
        )


def _checked(path: Path, scored: Path) -> Mapping[str, Any]:
    again = "write it again with `qe score --summary`"
    content = read_json("the summary", path, again)
    if content.get("kind") != KIND or content.get("schema") != SCHEMA:
        raise InputError(
            "is no summary of scores", location=path, remedy="give what `qe score --summary` writes"
        )
    with damage_reported("the summary", path, again):
        _ = content["model"]["fingerprint"][:12], content["model"]["name"]
        if content["output"]["sha256"] != sha256(scored):
            raise InputError(
                f"is the summary of other scores than {scored}",
                location=path,
                remedy="give the one beside them",
            )
    return content


def _own(scored: Path) -> Mapping[str, Any] | None:
    if scored.suffix.lower() not in (".parquet", ".pq"):
        return None
    try:
        text = (pq.read_schema(scored).metadata or {}).get(METADATA)
        content = None if text is None else json.loads(text)
    except (pa.ArrowException, OSError, ValueError):
        return None  # whoever reads its rows says so
    if not isinstance(content, dict) or (content.get("kind"), content.get("schema")) != (KIND, SCHEMA):
        return None
    with damage_reported("the metadata", scored, _AGAIN):
        _ = content["model"]["fingerprint"][:12], content["model"]["name"]
    return content
