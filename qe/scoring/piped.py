"""Standard input and output as files.

Input is kept on disk; output is whole or nothing.
"""

import shutil
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from features.basics.errors import InputError
from features.storage.files import DAMAGED_GZIP, damage_of, open_binary
from qe.scoring.many import files_of
from qe.scoring.row_formats import Kind, kind_of

DASH = Path("-")
_BLOCK = 1 << 20


class Piped:
    """A folder for data from standard input and for standard output.

    It is removed with this object.
    """

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="qe-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def read(self, stream: IO[bytes]) -> Path:
        """Standard input as a file, named by its kind. Raises InputError if there is nothing in it."""
        place = self.path / "stdin"
        with place.open("wb") as file:
            shutil.copyfileobj(stream, file, _BLOCK)
        return place.rename(place.with_suffix(f".{_kind(place)}"))

    def output(self, source: Sequence[Path]) -> Path:
        """The output's place before it is written out: of the kind of the input; of two texts, TSV."""
        kind = "tsv" if len(source) == 2 else kind_of(files_of(source)[0])
        return self.path / f"stdout.{kind}"

    def write(self, output: Path) -> None:
        """Copies the output to standard output."""
        with output.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, _BLOCK)
        sys.stdout.buffer.flush()

    def named(self, path: Path) -> str:
        """A path as the user knows it."""
        return str(DASH) if path.parent == self.path else str(path)


def _kind(path: Path) -> Kind:
    try:
        with open_binary(path) as stream:
            begin = stream.read(1 << 16).removeprefix(b"\xef\xbb\xbf")
    except DAMAGED_GZIP as error:
        raise InputError(damage_of(error), location="stdin") from None
    if not begin.strip():
        raise InputError("is empty", location="stdin", remedy="give a table: TSV, CSV, JSONL or Parquet")
    if begin.startswith(b"PAR1"):
        return "parquet"
    if begin.lstrip().startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in begin.partition(b"\n")[0] else "csv"
