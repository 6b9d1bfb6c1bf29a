"""Inputs of jobs: folders and patterns of tables as one table, standard input and output as files."""

import shutil
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

import pyarrow as pa

from features.basics.errors import InputError
from qe.data.table_rows import Input, Layout, Row, Types, kind_by_content, open_input
from qe.scoring.row_formats import kind_of

DASH = Path("-")
_BLOCK = 1 << 20
_PATTERN = frozenset("*?[")
_ONE_BY_ONE = "give a pattern, such as FOLDER/*.parquet"


def open_all(
    source: Sequence[Path], layout: Layout | None = None, files: Sequence[Path] | None = None
) -> Input:
    """Like `open_input`, but a folder or a pattern is one table, of the `files` if they are known already."""
    if len(source) == 1 and _has_many_files(source[0]):
        return ManyInput(
            source[0], tuple(open_input([file], layout) for file in files or _expanded(source[0]))
        )
    return open_input(source, layout)


def files_of(source: Sequence[Path]) -> list[Path]:
    """The files of a path or pattern, by name, without names that begin with a point or underscore."""
    return [file for path in source for file in _expanded(path)]


def check_unread(output: Path, source: Sequence[Path]) -> None:
    """Raises InputError for an output that a pattern of the source would match the next time."""
    for path in source:
        matches = (
            _has_many_files(path) and not path.is_dir() and output.absolute().match(str(path.absolute()))
        )
        if matches and not output.exists():  # an existing one is among the inputs
            raise InputError(
                f"would be an input the next time: {path} finds it",
                location=output,
                remedy="write it elsewhere, or narrow the pattern",
            )


def _has_many_files(path: Path) -> bool:
    return path.is_dir() or (bool(_PATTERN & set(str(path))) and not path.exists())


def _expanded(path: Path) -> list[Path]:
    if not _has_many_files(path):
        return [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if not file.name.startswith((".", "_")))
    else:
        files = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    if not files:
        problem = "holds no files" if path.is_dir() else "no file has such a name"
        raise InputError(problem, location=path, remedy="check the path")
    for file in files:
        if not file.is_file():
            raise InputError(f"holds {file.name!r}, which is no file", location=path, remedy=_ONE_BY_ONE)
    kinds = sorted({kind_of(file) for file in files})
    if len(kinds) > 1:
        problem = f"holds tables of several kinds: {', '.join(kinds)}"
        raise InputError(problem, location=path, remedy=_ONE_BY_ONE)
    return files


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
                    raise InputError(
                        f"the column '{name}' is {kind}, but {types[name]} in {self.parts[0].path}",
                        location=part.path,
                        remedy="leave out --keep, or score the file by itself",
                    )
                types[name] = kind if types[name] == kind else pa.string()
        return types

    def count(self) -> int:
        return sum(part.count() for part in self.parts)

    def rows(self, *, strict: bool = False) -> Iterator[Row]:
        for part in self.parts:
            yield from part.rows(strict=strict)


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
