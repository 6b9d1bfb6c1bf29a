"""The result and the summary of a scoring job, and the scores of an earlier one."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from features.basics.errors import InputError
from features.basics.numerals import real
from features.storage.checksums import checksum
from features.storage.damage import damage_reported, read_json
from features.storage.files import atomic_file, sha256
from qe.data.table_rows import Input, Layout, ParallelInput, Row, chunks, needed_texts, open_input
from qe.data.writing import kind_of
from qe.display import output_schemas
from qe.display.numbers import percent
from qe.display.output_schemas import SCHEMA
from qe.display.summary import Printable
from qe.models.description import versions
from qe.models.drift import DriftReport
from qe.scoring.input import ManyInput
from qe.scoring.routes import Router, Routes, ScoringModel
from qe.scoring.row_formats import LISTS, NUMBERS, Names
from qe.scoring.scorer import EarlierScores, Output, Scorer, Tally, key_of

KIND = "scoring job"
METADATA = b"qe"  # key of a Parquet file's own metadata
_AGAIN = "score the file again, or remove it"
_IN_TABLES = ("recipe", "rows", "scored", "reasons", "actions", "flagged")
_UNSCORED: Final = re.compile(r"unscored\s*>\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)(%?)")


@dataclass(frozen=True)
class RouteDone:
    rows: int
    scored: int
    drift: DriftReport | None = None


@dataclass(frozen=True)
class ScoredFile(Printable):
    """Result of a scoring job.

    Attributes
    ----------
    repeated : int
        Rows that took the score of an equal segment.
    drift : DriftReport or None
        How the scored rows, without the reused ones, differ from the training data; None for a model without
        a profile.
    actions : mapping of str to int
        Number of rows for each action; empty without triage.
    flagged : mapping of str to int
        Number of rows with a flag of each kind.
    not_checked : mapping of str to str
        Kinds of flags that were not looked for -> why.
    notes : tuple of str
        What was detected about the input.
    unchanged : bool
        Whether the same job had made the output before, so that nothing was done.
    reused : int
        Rows that kept the score of an earlier job.
    routes : mapping of str to RouteDone
        For several models: name of a route -> its rows and their drift.
    recipe : str
        Fingerprint of all that a row's output depends on besides the row: model, options, release.
    """

    rows: int
    scored: int
    reasons: Mapping[str, int]
    resumed_chunks: int = 0
    repeated: int = 0
    drift: DriftReport | None = None
    actions: Mapping[str, int] = field(default_factory=dict)
    flagged: Mapping[str, int] = field(default_factory=dict)
    not_checked: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unchanged: bool = False
    recipe: str = ""
    reused: int = 0
    routes: Mapping[str, RouteDone] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in ("rows", "scored", "reused", "repeated", "unchanged")}
        return {**values, "reasons": dict(self.reasons)}

    @property
    def warnings(self) -> tuple[str, ...]:
        """How the input departs from the training data of any model."""
        reports = {"": self.drift} | {f"{name}: ": route.drift for name, route in self.routes.items()}
        return tuple(
            f"{prefix}{warning}"
            for prefix, report in reports.items()
            if report
            for warning in report.warnings
        )

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = _codec().dump_python(self)
        return values

    @classmethod
    def from_tally(cls, tally: Tally, scorer: Scorer | Router, **attributes: Any) -> Self:
        routes = {}
        for name, profile in scorer.profiles().items():
            part = tally.routed.get(name, Tally())
            routes[name] = RouteDone(part.rows, part.reasons[""], part.drift(profile))
        return cls(
            tally.rows,
            tally.reasons[""],
            Counter({reason: count for reason, count in tally.reasons.items() if reason}),
            repeated=tally.repeated,
            drift=tally.drift(scorer.profile),
            actions=tally.actions,
            flagged=tally.flagged,
            not_checked=scorer.lacking,
            reused=tally.reused,
            routes=routes,
            recipe=scorer.recipe,
            **attributes,
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any], **changes: Any) -> "ScoredFile":
        return replace(_codec().validate_python(content), **changes)


@cache
def _codec() -> TypeAdapter[ScoredFile]:
    return TypeAdapter(ScoredFile)


@dataclass(frozen=True)
class Condition:
    """A condition of `--fail-if` on drift, or on more than `maximum` rows (or percent) without a score."""

    text: str
    maximum: float | None = None
    is_share: bool = False

    @classmethod
    def parsed(cls, text: str) -> "Condition":
        """A condition; InputError for a text of another form.

        >>> Condition.parsed("unscored>1%")
        Condition(text='unscored>1%', maximum=1.0, is_share=True)
        """
        if text.strip() == "drift":
            return cls("drift")
        found = _UNSCORED.fullmatch(text.strip())
        if found is None or (found[2] and float(found[1]) > 100) or (not found[2] and "." in found[1]):
            raise InputError(
                f"expected 'unscored>1%', 'unscored>100' or 'drift', but got '{text}'", location="--fail-if"
            )
        return cls(text.strip(), float(found[1]), bool(found[2]))

    def failed(self, rows: int, scored: int, drift: Sequence[str]) -> str:
        """How the condition holds; empty if it does not."""
        if self.maximum is None:
            return f"{self.text}: {'; '.join(drift)}" if drift else ""
        unscored = rows - scored
        accepted = self.maximum * rows / 100 if self.is_share else self.maximum
        share = f" ({percent(unscored / rows)})" if rows else ""
        return (
            f"{self.text}: {unscored:,} of {rows:,} rows{share} have no score" if unscored > accepted else ""
        )


def failures(
    conditions: Iterable[Condition], rows: int, scored: int, drift: Sequence[str] = ()
) -> Iterator[str]:
    """Why a job has failed though it ended, a sentence each; `drift` are the warnings of its drift report."""
    if not scored:
        yield f"none of {rows:,} rows was scored"
    yield from filter(None, (condition.failed(rows, scored, drift) for condition in conditions))


@dataclass(frozen=True)
class JobSummary:
    """The part of a summary that is known before a job begins; without a `place` none is written."""

    model: ScoringModel | Routes
    inputs: Sequence[Path]
    output: Path
    options: Mapping[str, Any]
    start: datetime
    place: Path | None = None
    display_path: Callable[[Path], str] = str
    parallel: bool = False

    def write(self, result: ScoredFile) -> None:
        """Write the summary, whole or not at all; an equal summary stays unchanged."""
        if self.place is None:
            return
        if result.unchanged:
            try:
                summary_of(self.place, self.output, self.model.identity)
                return
            except InputError:
                pass
        ended = datetime.now(UTC)
        content = {
            "kind": KIND,
            "model": self.model.to_json(),
            "packages": versions(),
            "inputs": described_inputs(self.inputs, self.parallel, self.display_path),
            "output": {"path": self.display_path(self.output), "sha256": sha256(self.output)},
            "options": dict(self.options),
            **result.to_json(),
            "begun": self.start.isoformat(timespec="seconds"),
            "ended": ended.isoformat(timespec="seconds"),
            "seconds": round((ended - self.start).total_seconds(), 3),
        }
        text = json.dumps(output_schemas.stamped("summary", content), indent=1, ensure_ascii=False)
        with atomic_file(self.place) as temporary:
            temporary.write_text(text + "\n", "utf-8")


def described_inputs(
    files: Sequence[Path], parallel: bool, display_path: Callable[[Path], str] = str
) -> list[dict[str, Any]]:
    inputs: list[dict[str, Any]] = [
        {"path": display_path(path), "bytes": path.stat().st_size, "sha256": checksum(path)} for path in files
    ]
    for entry, side in zip(inputs, ("source", "target") if parallel else (), strict=False):
        entry["side"] = side
    return inputs


def default_place(scored: Path) -> Path:
    return scored.with_name(f"{scored.name}.json")


def check_place(place: Path) -> None:
    if place.exists() and not is_summary(place):
        problem = "already exists, and the summary of the scores is written to this path"
        remedy = "name another place by --summary FILE, or leave it out by --no-summary"
        raise InputError(problem, location=place, remedy=remedy)


def is_summary(path: Path) -> bool:
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
    result: ScoredFile,
) -> bytes:
    """Metadata of scores in Parquet; without times and drift, so that equal jobs give equal bytes."""
    content = {
        "schema": SCHEMA,
        "kind": KIND,
        "model": model,
        "packages": versions(),
        "inputs": [
            {name: entry[name] for name in entry if name != "path"}
            for entry in described_inputs(files, parallel)
        ],
        "options": dict(options),
        **{name: value for name, value in result.to_json().items() if name in _IN_TABLES},
    }
    return json.dumps(content, ensure_ascii=False, sort_keys=True).encode()


def record_of(scored: Path) -> Mapping[str, Any] | None:
    """The summary or metadata of a scored file: how it was made; None if there is none."""
    place = default_place(scored)
    if place.is_file() and is_summary(place):
        return _checked(place, scored)
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


def summary_of(path: Path, scored: Path, identity: str) -> Mapping[str, Any]:
    """The summary of a scored file; `identity` is the fingerprint of the model that must have made it."""
    content = _checked(path, scored)
    check_model(content, scored, identity)
    return content


def check_model(record: Mapping[str, Any], scored: Path, identity: str) -> None:
    model = record["model"]
    if model["fingerprint"] != identity:
        problem = f"was scored by another model: {model['name']}, fingerprint {model['fingerprint'][:12]}"
        remedy = f"name that model; the given one has {identity[:12]}"
        raise InputError(problem, location=scored, remedy=remedy)


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
            problem = f"is the summary of other scores than {scored}"
            raise InputError(problem, location=path, remedy="give the summary of this file")
    return content


_REMEDY = "give what `qe score` wrote: a table with its summary, or Parquet"


@dataclass(frozen=True)
class PreviousJob:
    """A file that an earlier job scored; `names` are the headers that the user gives to the new job."""

    path: Path
    scorer: Scorer
    names: Names
    layout: Layout

    @cached_property
    def record(self) -> Mapping[str, Any]:
        if not self.path.is_file():
            raise InputError("no such file", location=self.path, remedy=_REMEDY)
        record = record_of(self.path)
        if record is None:
            raise InputError(
                "has no record of the model that made its scores", location=self.path, remedy=_REMEDY
            )
        return record

    def differs(self, recipe: str) -> str:
        """Why none of its scores can be kept; empty if they can."""
        model = self.record["model"]
        if model["fingerprint"] != self.scorer.identity:
            return f"another model made them: {model['name']}, fingerprint {model['fingerprint'][:12]}"
        if self.record.get("recipe") != recipe:
            return "they were made with other options, or by another release of qe"
        return ""

    def store(self, path: Path) -> EarlierScores:
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
            database.execute("CREATE TABLE known (key BLOB PRIMARY KEY, output TEXT) WITHOUT ROWID")
            for batch in chunks(self.rows(), 5000):
                keyed = [(key_of(texts), json.dumps(output)) for texts, output in batch]
                database.execute("BEGIN")
                database.executemany("INSERT OR IGNORE INTO known VALUES (?, ?)", keyed)
                database.execute("COMMIT")
        return EarlierScores(path)

    def rows(self) -> Iterator[tuple[Mapping[str, str], Output]]:
        """(texts of the needed columns, output) of every row that has a score."""
        table, needs = self._texts(), self.scorer.needs
        names = self.names.for_table(needs, table.headers, table.columns, table.path)
        for text, row in zip_longest(table.rows(), open_input([self.path]).rows()):
            if text is None or row is None:
                problem = "its rows are no longer those of its summary"
                raise InputError(problem, location=self.path, remedy="score it again")
            columns, reason = names.view(text)
            output = self._output(row)
            if output is not None and not reason:
                texts, reason = needed_texts(columns, needs.all, needs.table_columns)
                if not reason:
                    yield texts, output

    def _texts(self) -> Input:
        options = self.record["options"]
        kind = kind_of(self.path)
        exact = kind in ("jsonl", "parquet") or (kind == "csv" and not options.get("safe-cells"))
        if options.get("keep") and exact:
            return open_input([self.path])
        inputs = self.record["inputs"]
        paths = [Path(entry.get("path", "")) for entry in inputs]
        for path, entry in zip(paths, inputs, strict=True):
            if not path.is_file() or checksum(path) != entry["sha256"]:
                problem = f"holds no texts, and its input {path} is gone or has changed"
                remedy = "score into JSONL, CSV or Parquet with --keep, and the texts are there"
                raise InputError(problem, location=self.path, remedy=remedy)
        if len(paths) == 2 and "side" in inputs[0]:
            return ParallelInput(*paths)
        parts = [open_input([path], self.layout) for path in paths]
        return parts[0] if len(parts) == 1 else ManyInput(paths[0], tuple(parts))

    def _output(self, row: Row) -> Output | None:
        columns, problem = row
        options = self.record["options"]
        suffix = options.get("suffix", "") if options.get("keep") else ""
        names = [name for name in self.scorer.output_columns if name != "id"]
        missing = next((name + suffix for name in names if name + suffix not in columns), None)
        if problem or missing:
            raise InputError(
                f"has a row with {problem}" if problem else f"has no column '{missing}'",
                location=self.path,
                remedy=_REMEDY,
            )
        output = {name: columns[name + suffix] for name in names}
        for name, value in output.items() if kind_of(self.path) not in ("jsonl", "parquet") else ():
            if name in LISTS:
                problem = "lists in cells cannot be read back"
                raise InputError(problem, location=self.path, remedy="give JSONL or Parquet")
            if name in NUMBERS:
                try:
                    output[name] = None if value == "" else real(value)
                except ValueError:
                    raise InputError(f"a {name} is not a number: {value!r}", location=self.path) from None
        return None if output.pop("reason") else output
