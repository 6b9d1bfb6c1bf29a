"""Scores that an earlier job gave to rows of the same texts: looked up instead of computed again."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.numerals import real
from features.storage.checksums import checksum
from qe.data.table_rows import Input, Kind, Layout, ParallelInput, Row, chunks, open_input
from qe.scoring import row_formats
from qe.scoring.input import ManyInput
from qe.scoring.job_summary import record_of
from qe.scoring.naming import Names
from qe.scoring.scorer import Output, Scorer, key_of

_REMEDY = "give what `qe score` wrote: a table with its summary, or Parquet"
_MAX_KEYS = 500  # of one query
_CHANGED = "its rows are no longer those of its summary"


@dataclass(frozen=True)
class EarlierScores:
    """The outputs of an earlier job by the keys of their segments, in a database file: memory stays flat."""

    path: Path

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Output]:
        outputs: dict[bytes, Output] = {}
        for batch in chunks(keys, _MAX_KEYS):
            marks = ",".join("?" * len(batch))
            rows = self._database.execute(f"SELECT key, output FROM known WHERE key IN ({marks})", batch)
            outputs |= {key: json.loads(output) for key, output in rows}
        return outputs

    @cached_property
    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


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
        needed = self.scorer.columns()
        table = self._texts()
        named = self.scorer.table_columns
        names = self.names.completed(needed, table.headers, self.scorer.headers, table.path, named)
        names.check(needed, table.columns, table.path, self.scorer.title, named)
        for text, row in zip_longest(table.rows(), open_input([self.path]).rows()):
            if text is None or row is None:
                raise InputError(_CHANGED, location=self.path, remedy="score it again")
            columns, reason = names.view(text)
            output = self._output(row)
            texts, reason = ({}, reason) if reason else self.scorer.texts(columns)
            if output is not None and not reason:
                yield texts, output

    def _texts(self) -> Input:
        options = self.record["options"]
        exact = self._kind in ("jsonl", "parquet") or (self._kind == "csv" and not options.get("safe-cells"))
        if options.get("keep") and exact:
            return open_input([self.path])
        inputs = self.record["inputs"]
        paths = [Path(entry.get("path", "")) for entry in inputs]
        for path, entry in zip(paths, inputs, strict=True):
            if not path.is_file() or checksum(path) != entry["sha256"]:
                raise InputError(
                    f"holds no texts, and its input {path} is gone or has changed",
                    location=self.path,
                    remedy="score into JSONL, CSV or Parquet with --keep, and the texts are there",
                )
        if len(paths) == 2 and "side" in inputs[0]:
            return ParallelInput(*paths)
        parts = [open_input([path], self.layout) for path in paths]
        return parts[0] if len(parts) == 1 else ManyInput(paths[0], tuple(parts))

    @property
    def _kind(self) -> Kind:
        return row_formats.kind_of(self.path)

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
        output = {name: self._value(name, columns[name + suffix]) for name in names}
        return None if output.pop("reason") else output

    def _value(self, name: str, value: Any) -> Any:
        if self._kind in ("jsonl", "parquet"):
            return value
        if name in row_formats.LISTS:
            raise InputError(
                "lists in cells cannot be read back", location=self.path, remedy="give JSONL or Parquet"
            )
        if name not in row_formats.NUMBERS:
            return value
        try:
            return None if value == "" else real(value)
        except ValueError:
            raise InputError(f"a {name} is not a number: {value!r}", location=self.path) from None
