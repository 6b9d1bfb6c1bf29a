"""Files of translation tools: XLIFF, TMX and XLSX, read as segments with note places."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from features.basics.errors import unknown_name
from qe.data.translation_files import tmx, xliff
from qe.data.translation_files.segments import Languages, TranslationFile, translation_kind
from qe.data.translation_files.xlsx import Sheet, SheetLocation

__all__ = ["FileOptions", "Opened", "SheetLocation", "opened"]


Opened = TranslationFile | Sheet


@dataclass(frozen=True)
class FileOptions:
    """Options for reading a file; `locked` decides whether locked segments get a reason or a score."""

    tags: Mapping[str, str] = field(default_factory=dict)
    location: SheetLocation = field(default_factory=SheetLocation)
    locked: str = "skip"


def opened(
    path: Path, languages: tuple[str, str], options: FileOptions | None = None, kind: str | None = None
) -> Opened:
    """The file, its languages checked; the kind is by default what the file's name shows."""
    options = options or FileOptions()
    for side in options.tags:
        if side not in ("source", "target"):
            raise unknown_name("side", side, ("source", "target"), location="--languages")
    if options.locked not in ("skip", "score"):
        raise unknown_name("choice", options.locked, ("skip", "score"), location="--locked")
    wanted = Languages(*languages, options.tags)
    kind = kind or translation_kind(path)
    if kind == "xlsx":
        return Sheet(path, options.location)
    if kind == "tmx":
        return tmx.read(path, wanted)
    file = xliff.read(path)
    wanted.check(file.declared, path)
    return replace(file, score_all=options.locked == "score")
