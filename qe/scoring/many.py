"""Many files as one input: a folder or a pattern such as `day/*.parquet`.

The files are in the order of their names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from features.basics.errors import InputError
from qe.data.table_rows import Input, Layout, Row, open_input
from qe.scoring.row_formats import Types, kind_of

_PATTERN = frozenset("*?[")
_ONE_BY_ONE = "give a pattern, such as FOLDER/*.parquet"


def files_of(source: Sequence[Path]) -> list[Path]:
    """The files of an input: those of a folder and of a pattern, by name; a file is its own.

    Names that begin with a point or an underscore are not read in folders (`_SUCCESS` of Spark). Raises
    InputError for a folder that holds anything but tables of one kind, and a pattern that no file has.
    """
    return [file for path in source for file in _expanded(path)]


def open_all(
    source: Sequence[Path], layout: Layout | None = None, files: Sequence[Path] | None = None
) -> Input:
    """Like `open_input`, but a folder or a pattern is one table.

    Raises InputError as both do.

    files  what `files_of` said of the source, if it was asked: later files are of another job
    """
    if len(source) == 1 and is_many(source[0]):
        parts = [open_input([file], layout) for file in files or _expanded(source[0])]
        return ManyInput(source[0], tuple(parts))
    return open_input(source, layout)


def check_unread(output: Path, source: Sequence[Path]) -> None:
    """Raises InputError for an output that a pattern of the source finds the next time."""
    for path in source:
        found = is_many(path) and not path.is_dir() and output.absolute().match(str(path.absolute()))
        if found and not output.exists():  # one that is there is among the inputs
            raise InputError(
                f"would be an input the next time: {path} finds it",
                location=output,
                remedy="write it elsewhere, or narrow the pattern",
            )


def is_many(path: Path) -> bool:
    """Whether a path is a folder, or a pattern and no file of that name."""
    return path.is_dir() or (bool(_PATTERN & set(str(path))) and not path.exists())


def _expanded(path: Path) -> list[Path]:
    if not is_many(path):
        return [path]
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if not one.name.startswith((".", "_")))
    else:
        found = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    if not found:
        raise InputError(
            "holds no files" if path.is_dir() else "no file has such a name",
            location=path,
            remedy="check the path",
        )
    for one in found:
        if not one.is_file():
            raise InputError(f"holds {one.name!r}, which is no file", location=path, remedy=_ONE_BY_ONE)
    kinds = {kind_of(one) for one in found}
    if len(kinds) > 1:
        raise InputError(f"holds tables of several kinds: {', '.join(sorted(kinds))}", location=path,
                         remedy=_ONE_BY_ONE)  # fmt: skip
    return found


@dataclass(frozen=True)
class ManyInput(Input):
    """Tables of one kind, with the same columns, one after the other."""

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
        told = (f"{part.path}: {note}" for part in self.parts for note in part.notes)
        return (f"{len(self.parts)} files", *told)

    @cached_property
    def types(self) -> Types:
        """A type that the column has in all parts; raises InputError if Parquet files differ in one."""
        types: dict[str, pa.DataType] = {}
        for part in self.parts:
            for name, of in part.types.items():
                if types.setdefault(name, of) != of and self.columns is not None:
                    raise InputError(
                        f"the column '{name}' is {of}, but {types[name]} in {self.parts[0].path}",
                        location=part.path,
                        remedy="leave out --keep, or score the file by itself",
                    )
                types[name] = of if types[name] == of else pa.string()
        return types

    def count(self) -> int:
        return sum(part.count() for part in self.parts)

    def rows(self, *, strict: bool = False) -> Iterator[Row]:
        for part in self.parts:
            yield from part.rows(strict=strict)
