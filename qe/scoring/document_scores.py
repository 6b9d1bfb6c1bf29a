"""Scores of documents from a scored table: the mean of their segments' scores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from features.basics.errors import InputError
from features.storage.files import atomic_file, is_input_file, read_lines
from qe.data.delimited import CsvOptions
from qe.data.headers import header_of
from qe.data.table_rows import Input, Layout, Unreadable, open_input
from qe.scoring import row_formats

COLUMNS = ("document", "score", "segments", "scored")
_TYPES = {"document": pa.string(), "score": pa.float64(), "segments": pa.int64(), "scored": pa.int64()}


@dataclass
class Document:
    segments: int = 0
    scored: int = 0
    total: float = 0.0

    def add(self, score: float | None) -> None:
        self.segments += 1
        if score is not None:
            self.scored += 1
            self.total += score

    def row(self, name: str) -> dict[str, Any]:
        mean = self.total / self.scored if self.scored else None
        return {"document": name, "score": mean, "segments": self.segments, "scored": self.scored}


@dataclass(frozen=True)
class DocumentIds:
    """The document of every row of an input: from a column, or from a file with one line for each row."""

    table: Input
    header: str = ""
    lines: Path | None = None

    @classmethod
    def from_option(cls, table: Input, option: str | None) -> "DocumentIds":
        """From the column or the file that the option names; without it, from a usual header."""
        headers = table.headers
        header = (
            option if option is not None else header_of("doc_id", headers, table.path, option="--doc-ids")
        )
        if header in headers:
            return cls(table, header=header)
        if not header:
            raise InputError(
                f"no column names documents; the columns are {', '.join(headers)}",
                location=table.path,
                remedy="give --doc-ids, a column or a file with one line for each row",
            )
        path = Path(header)
        if not is_input_file(path):
            problem = f"is neither a column ({', '.join(headers)}) nor a file"
            raise InputError(problem, location=f"--doc-ids {header}")
        lines, rows = sum(1 for _ in read_lines(path)), table.count()
        if lines != rows:
            raise InputError(f"{lines} lines, but {rows} rows in {table.path}", location=path)
        return cls(table, lines=path)

    def __iter__(self) -> Iterator[str]:
        if self.lines is not None:
            yield from read_lines(self.lines)
            return
        for columns, _ in self.table.rows():
            value = columns.get(self.header)
            yield "" if value is None or isinstance(value, Unreadable) else str(value)


def score_documents(documents: DocumentIds, scored: Path, score: str = "score") -> dict[str, Document]:
    """The documents of a scored table, in order of first appearance; `score` is the header of its scores."""
    kind = row_formats.kind_of(scored)
    wanted = CsvOptions({"tsv": "tab", "csv": "comma"}.get(kind), kind == "csv", "utf-8")
    rows = open_input([scored], Layout(csv=wanted)).rows()
    scores: dict[str, Document] = {}
    for name, row in zip_longest(documents, rows):
        if name is None or row is None:
            raise InputError("has not as many rows as the input", location=scored, remedy="score it again")
        value = row[0].get(score)
        scores.setdefault(name, Document()).add(None if value in (None, "") else float(value))
    return scores


def write_documents(path: Path, documents: Mapping[str, Document]) -> None:
    with atomic_file(path) as temporary, row_formats.table_writer(temporary, path, COLUMNS, _TYPES) as write:
        write([document.row(name) for name, document in documents.items()])
