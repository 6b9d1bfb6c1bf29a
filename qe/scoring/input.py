"""Inputs of jobs: folders and patterns of tables, standard input, files read whole, documents of rows."""

import shutil
import sys
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

import pyarrow as pa

from features.basics.errors import InputError
from features.core.segments import Segments
from features.storage.files import is_input_file, read_lines
from qe.data.delimited import Layout
from qe.data.headers import header_of
from qe.data.table_rows import (
    Input,
    Numbered,
    Types,
    Unreadable,
    kind_by_content,
    needed_texts,
    open_input,
)
from qe.data.writing import kind_of, write_rows
from qe.models.model import Model
from qe.scoring.row_formats import Names, Needs
from qe.scoring.scorer import needs_of

DASH = Path("-")
_BLOCK = 1 << 20
_PATTERN = frozenset("*?[")
_ONE_BY_ONE = "give a pattern, such as FOLDER/*.parquet"


def open_all(
    source: Sequence[Path], layout: Layout | None = None, files: Sequence[Path] | None = None
) -> Input:
    """Like `open_input`, but a folder or a pattern is one table, of the `files` if they are known already."""
    if len(source) == 1 and _has_many_files(source[0]):
        parts = (open_input([file], layout) for file in files or files_of(source))
        return ManyInput(source[0], tuple(parts))
    return open_input(source, layout)


def files_of(source: Sequence[Path]) -> list[Path]:
    """The files of a path or pattern, by name, without names that begin with a point or underscore."""
    found: list[Path] = []
    for path in source:
        if not _has_many_files(path):
            found.append(path)
            continue
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if not file.name.startswith((".", "_")))
        else:
            files = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
        if not files:
            problem = "holds no files" if path.is_dir() else "no file has such a name"
            raise InputError(problem, location=path, remedy="check the path")
        for file in files:
            if not file.is_file():
                problem = f"holds {file.name!r}, which is no file"
                raise InputError(problem, location=path, remedy=_ONE_BY_ONE)
        kinds = sorted({kind_of(file) for file in files})
        if len(kinds) > 1:
            problem = f"holds tables of several kinds: {', '.join(kinds)}"
            raise InputError(problem, location=path, remedy=_ONE_BY_ONE)
        found += files
    return found


def check_unread(output: Path, source: Sequence[Path]) -> None:
    """Raises InputError for an output that a pattern of the source would match the next time."""
    for path in source:
        matches = (
            _has_many_files(path) and not path.is_dir() and output.absolute().match(str(path.absolute()))
        )
        if matches and not output.exists():  # an existing one is among the inputs
            problem = f"would be an input the next time: {path} finds it"
            raise InputError(problem, location=output, remedy="write it elsewhere, or narrow the pattern")


def _has_many_files(path: Path) -> bool:
    return path.is_dir() or (bool(_PATTERN & set(str(path))) and not path.exists())


@dataclass(frozen=True)
class ManyInput(Input):
    parts: Sequence[Input]

    @cached_property
    def columns(self) -> list[str] | None:
        first = self.parts[0].columns
        for part in self.parts[1:]:
            if first is not None and set(part.columns or ()) != set(first):
                raise InputError(
                    f"has the columns {', '.join(part.columns or ())}, but {self.parts[0].path} has "
                    f"{', '.join(first)}",
                    location=part.path,
                    remedy="score files of other columns by themselves",
                )
        return first

    @property
    def notes(self) -> tuple[str, ...]:
        notes = (f"{part.path}: {note}" for part in self.parts for note in part.notes)
        return (f"{len(self.parts)} files", *notes)

    @cached_property
    def types(self) -> Types:
        types: dict[str, pa.DataType] = {}
        for part in self.parts:
            for name, kind in part.types.items():
                if types.setdefault(name, kind) != kind and self.columns is not None:
                    problem = f"the column '{name}' is {kind}, but {types[name]} in {self.parts[0].path}"
                    remedy = "leave out --keep, or score the file by itself"
                    raise InputError(problem, location=part.path, remedy=remedy)
                types[name] = kind if types[name] == kind else pa.string()
        return types

    def count(self) -> int:
        return sum(part.count() for part in self.parts)

    def numbered(self, *, strict: bool = False) -> Numbered:
        for part in self.parts:
            yield from part.numbered(strict=strict)


class Piped:
    """A folder for data from standard input and for standard output, removed with this object."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="qe-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def read(self, stream: IO[bytes]) -> Path:
        place = self.path / "stdin"
        with place.open("wb") as file:
            shutil.copyfileobj(stream, file, _BLOCK)
        return place.rename(place.with_suffix(f".{kind_by_content(place, 'stdin')}"))

    def output(self, source: Sequence[Path]) -> Path:
        """The file to write before it is copied: of the kind of the input; TSV for two texts."""
        kind = "tsv" if len(source) == 2 else kind_of(files_of(source)[0])
        return self.path / f"stdout.{kind}"

    def write(self, output: Path) -> None:
        with output.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, _BLOCK)
        sys.stdout.buffer.flush()

    def display_path(self, path: Path) -> str:
        return str(DASH) if path.parent == self.path else str(path)


@dataclass(frozen=True, eq=False)
class Pool:
    """Unlabelled rows to choose from, with their numbers and ids, and the reasons for refusing others."""

    columns: Mapping[str, list[str]]
    rows: list[int]
    ids: list[str]
    refused: Mapping[str, int]


def read_pool(path: Path, columns: Mapping[str, str] | None = None, layout: Layout | None = None) -> Pool:
    """The translations of a table or of a translation tool's file; raises InputError if there are none."""
    table = open_input([path], layout)
    names = Names(columns or {}).for_table(
        Needs(("source", "target"), "a pool"), table.headers, table.columns, path
    )
    rows, ids, refused = list[int](), list[str](), Counter[str]()
    texts: dict[str, list[str]] = {}
    for number, row in enumerate(table.rows(), start=1):
        view, reason = names.view(row)
        there = [name for name in Segments.column_names() if name in view and name != "id"]
        values, unread = needed_texts(view, list(dict.fromkeys(("source", "target", *there))))
        reason = reason or unread
        if not reason and rows and set(values) != set(texts):
            reason = "other columns than the first row"
        if reason:
            refused[reason] += 1
            continue
        rows.append(number)
        ids.append(str(view.get("id", number)))
        for name, value in values.items():
            texts.setdefault(name, []).append(value)
    if not rows:
        reason = next(iter(refused), "it has no rows")
        raise InputError(f"holds no translation that can be used ({reason})", location=path)
    return Pool(texts, rows, ids, dict(refused))


def segments_of(model: Model, path: Path, columns: Mapping[str, str]) -> Segments:
    """The rows of a file that the model can score, numbered from 1 in their order."""
    needs, table = needs_of(model), open_input([path])
    names = Names(columns).for_table(needs, table.headers, table.columns, path)
    views = (row for row, reason in map(names.view, table.rows()) if not reason)
    pairs = (needed_texts(row, needs.all, needs.table_columns) for row in views)
    rows = [texts for texts, reason in pairs if not reason]
    if not rows:
        raise InputError("no row has a source and a translation that can be scored", location=path)
    return model.segments({name: [row[name] for row in rows] for name in needs.all})


_TYPES = {"document": pa.string(), "score": pa.float64(), "segments": pa.int64(), "scored": pa.int64()}


@dataclass
class Document:
    segments: int = 0
    scored: int = 0
    total: float = 0.0


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
    kind = kind_of(scored)
    wanted = Layout(None, {"tsv": "tab", "csv": "comma"}.get(kind), kind == "csv", "utf-8")
    rows = open_input([scored], wanted).rows()
    scores: dict[str, Document] = {}
    for name, row in zip_longest(documents, rows):
        if name is None or row is None:
            raise InputError("has not as many rows as the input", location=scored, remedy="score it again")
        value = row[0].get(score)
        document = scores.setdefault(name, Document())
        document.segments += 1
        if value not in (None, ""):
            document.scored += 1
            document.total += float(value)
    return scores


def write_documents(path: Path, documents: Mapping[str, Document]) -> None:
    rows = [
        {
            "document": name,
            "score": each.total / each.scored if each.scored else None,
            "segments": each.segments,
            "scored": each.scored,
        }
        for name, each in documents.items()
    ]
    write_rows(path, rows, _TYPES)
