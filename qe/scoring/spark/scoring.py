"""Scoring on Spark: any input that Spark reads -> a folder with the local engine's rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from features.basics.errors import InputError
from qe.data.table_rows import Row
from qe.models.description import one_model
from qe.models.drift import Counts, DriftReport
from qe.scoring import row_formats
from qe.scoring.flags import kinds_of
from qe.scoring.kept import Kept
from qe.scoring.naming import Names
from qe.scoring.scorer import Options, Output, Scorer, remembered
from qe.scoring.spark.output import written_folder
from qe.scoring.spark.rows import ID, Numbered, Parser, Table, read_table
from qe.scoring.spark.shipping import ship_folder, shipped

CHUNK = 5000


@dataclass(frozen=True)
class ScoredTable:
    """What a scoring job did: rows in, rows with a score, and why the others have none.

    drift, actions, flagged, not_checked  as of `qe.scoring.jobs.ScoredFile`
    """

    rows: int
    scored: int
    reasons: Mapping[str, int]
    drift: DriftReport | None = None
    actions: Mapping[str, int] = field(default_factory=dict)
    flagged: Mapping[str, int] = field(default_factory=dict)
    not_checked: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values only."""
        values = {
            name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()
        }
        return {**values, "drift": None if self.drift is None else self.drift.to_json()}


def score_table(
    session: Any,
    model_path: Path,
    source: str,
    output: str,
    *,
    identity: str | None = None,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
    keep: bool = False,
    suffix: str = "",
    safe: bool = False,
    overwrite: bool = False,
    chunk: int = CHUNK,
) -> ScoredTable:
    """Score a table into the folder `output`.

    Its parts hold the rows and columns of the local engine.

    The kind of the parts is told by the folder's name; parts of TSV and CSV have a header each. What is
    written is the local engine's to the last bit, and the text is byte for byte the same. Parts in the order
    of their names have the rows of one input file in its order. The folder is there only when it is complete.

    columns, keep, suffix, safe  as of `qe.scoring.jobs.score_file`

    Raises InputError as `read_table` does, and for a model, input or output that cannot be used.
    """
    kind = row_formats.kind_of(Path(output))
    scorer = Scorer.load(model_path, options or Options(), identity=identity)
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(chunk))
    with written_folder(session, output, overwrite) as folder:
        table = read_table(session, source)
        names = _names(scorer, table, columns or {})
        kept = _kept(table, scorer, kind, names, suffix) if keep else None
        if kept is None:
            table = table.taking(names.header(name) for name in (ID, *scorer.columns()))
        with one_model(model_path, scorer.model.identity):
            archive = ship_folder(session, model_path)
        frame, parser = table.located()
        accumulated = session.sparkContext.accumulator({}, Partitions())
        task = Task(
            archive,
            scorer.model.identity,
            scorer.options,
            parser,
            names,
            scorer.output_columns,
            kept,
            kind,
            safe,
            accumulated,
        )
        task.write(frame, folder, output.lower().endswith(".gz"))
    found = sum((_Outcome(*parts) for parts in accumulated.value.values()), _Outcome())
    return found.summary(scorer)


def _names(scorer: Scorer, table: Table, columns: Mapping[str, str]) -> Names:
    needed = scorer.columns()
    names = Names(columns).completed(needed, table.headers, remembered(scorer.model), table.name)
    names.check(needed, table.columns, table.name, f"the model '{scorer.model.name}'")
    return names


def _kept(table: Table, scorer: Scorer, kind: row_formats.Kind, names: Names, suffix: str) -> Kept:
    if table.columns is None:
        raise InputError(
            "--keep on Spark needs an input that declares its columns",
            location=table.name,
            remedy="convert it to Parquet, or leave out either --keep or --engine spark",
        )
    return Kept.make(table, scorer.output_columns, kind, names.header(ID), suffix)


class Partitions:
    """Partition -> its outcome.

    If Spark computes a partition again, the new outcome replaces the old.
    """

    def zero(self, value: dict[int, Any]) -> dict[int, Any]:
        return {}

    def addInPlace(self, left: dict[int, Any], right: dict[int, Any]) -> dict[int, Any]:
        left.update(right)
        return left


@dataclass(frozen=True)
class _Outcome:
    reasons: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    looks: Counts | None = None

    @classmethod
    def seen(cls, rows: Sequence[Output], looks: Counts | None) -> "_Outcome":
        return cls(
            Counter(row["reason"] for row in rows),
            Counter(row["action"] for row in rows if row.get("action")),
            Counter(kind for row in rows for kind in kinds_of(row.get("flags"))),
            looks,
        )

    def __add__(self, other: "_Outcome") -> "_Outcome":
        looks = other.looks if self.looks is None else self.looks
        if self.looks is not None and other.looks is not None:
            looks = self.looks + other.looks
        return _Outcome(
            self.reasons + other.reasons, self.actions + other.actions, self.flagged + other.flagged, looks
        )

    def summary(self, scorer: Scorer) -> ScoredTable:
        reasons = Counter(self.reasons)
        scored = reasons.pop("", 0)
        profile = scorer.profile
        drift = None if profile is None or self.looks is None else profile.report(self.looks)
        lacking = {} if scorer.flags is None else scorer.flags.lacking
        rows = scored + sum(reasons.values())
        return ScoredTable(rows, scored, reasons, drift, self.actions, self.flagged, lacking)


@dataclass(frozen=True)
class Task:
    """What an executor does with a partition: rows are parsed, scored, and encoded as locally.

    added     columns that scoring adds
    outcomes  where the outcome of a partition is told
    """

    archive: str
    identity: str | None
    options: Options
    parser: Parser
    names: Names
    added: tuple[str, ...]
    kept: Kept | None
    kind: row_formats.Kind
    safe: bool
    outcomes: Any

    def write(self, frame: Any, folder: str, gzipped: bool) -> None:
        """Writes what all tasks make as a folder of parts."""
        if self.kind == "parquet":
            from pyspark.sql.pandas.types import from_arrow_schema

            schema = row_formats.arrow_table([], self._columns, self._types).schema
            frame.mapInArrow(lambda batches: self.run(batches), from_arrow_schema(schema)).write.parquet(
                folder
            )
            return
        lines = frame.mapInArrow(lambda batches: self.run(batches), "value string")
        lines.write.text(folder, compression="gzip" if gzipped else "none", lineSep="\n")

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The output of a partition; its outcome is told when all of it is made."""
        from pyspark import TaskContext

        scorer = _loaded(self.archive, self.identity, self.options)
        outcome = _Outcome()
        before = row_formats.header(self._columns, self.kind) if self.kind != "parquet" else b""
        for numbered in self.parser.rows(batches):
            rows, seen = self._scored(scorer, numbered)
            outcome = outcome + seen
            yield from self._encoded(rows, before)
            before = b""
        context = TaskContext.get()
        parts = (outcome.reasons, outcome.actions, outcome.flagged, outcome.looks)
        self.outcomes.add({-1 if context is None else context.partitionId(): parts})

    def _scored(self, scorer: Scorer, numbered: Sequence[Numbered]) -> tuple[list[Output], _Outcome]:
        views = [self._named(number, row) for number, row in numbered]
        scored = scorer.score(views)
        seen = _Outcome.seen(scored.rows, scored.counts)
        if self.kept is None:
            return scored.rows, seen
        pairs = zip(numbered, scored.rows, strict=True)
        return [self.kept.merged(row, made) for (_, (row, _)), made in pairs], seen

    def _named(self, number: int | None, row: Row) -> Row:
        columns, reason = self.names.view(row)
        if columns.get(ID) is not None:
            return columns, reason
        if number is None:
            raise InputError(
                "a row has no id, and the rows of this table have no order to number them by",
                location=self.parser.name,
                remedy="give it a column `id`",
            )
        return {**columns, ID: str(number)}, reason

    def _encoded(self, rows: Sequence[Output], before: bytes) -> Iterator[pa.RecordBatch]:
        if self.kind == "parquet":
            yield from row_formats.arrow_table(rows, self._columns, self._types).to_batches()
            return
        text = before + row_formats.encode(rows, self._columns, self.kind, self._types, self.safe)
        if text:
            yield pa.RecordBatch.from_pydict({"value": [text.removesuffix(b"\n").decode()]})

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.added if self.kept is None else self.kept.columns

    @property
    def _types(self) -> row_formats.Types:
        return {} if self.kept is None else self.kept.column_types


@lru_cache(maxsize=1)
def _loaded(archive: str, identity: str | None, options: Options) -> Scorer:
    return Scorer.load(shipped(archive), options, identity=identity)


def check_inputs(inputs: Sequence[str]) -> str:
    """The one input.

    Raises InputError for two parallel files, which Spark would not read line by line.
    """
    if len(inputs) != 1:
        raise InputError(
            "--engine spark takes one table, not parallel text files",
            remedy="join them, for example with paste into a TSV whose first line is source<TAB>target",
        )
    return inputs[0]
