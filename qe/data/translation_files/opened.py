"""A file of a translation tool as a table of text columns.

It also says why some texts cannot be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from features.basics.errors import unknown_name
from qe.data.translation_files import tmx, xliff
from qe.data.translation_files.kinds import translation_kind
from qe.data.translation_files.segments import Languages, TranslationFile
from qe.data.translation_files.xlsx import Sheet, Where

__all__ = ["Asked", "Opened", "Where", "opened"]


Opened = TranslationFile | Sheet


@dataclass(frozen=True)
class Asked:
    """What a user says of a file.

    known_as  `source`, `target` -> the file's own tag of that language
    location     the sheet and the row of the header, of XLSX
    """

    known_as: Mapping[str, str] = field(default_factory=dict)
    location: Where = field(default_factory=Where)


def opened(
    path: Path, languages: tuple[str, str], asked: Asked | None = None, kind: str | None = None
) -> Opened:
    """The file, its languages checked.

    languages  of source and target that are wanted
    kind       of the file; None: what its name says

    Raises InputError for a file that cannot be read, or is of other languages.
    """
    asked = asked or Asked()
    for side in asked.known_as:
        if side not in ("source", "target"):
            raise unknown_name("side", side, ("source", "target"), location="--languages")
    wanted = Languages(*languages, asked.known_as)
    kind = kind or translation_kind(path)
    if kind == "xlsx":
        return Sheet(path, asked.location)
    if kind == "tmx":
        return tmx.read(path, wanted)
    file = xliff.read(path)
    wanted.check(file.declared, path)
    return file
