"""Files of translation tools: XLIFF, TMX and XLSX, read as segments with note places."""

from dataclasses import replace
from pathlib import Path

from qe.data.delimited import Layout
from qe.data.translation_files import tmx, xliff
from qe.data.translation_files.segments import Languages, TranslationFile, translation_kind
from qe.data.translation_files.xlsx import Sheet

Opened = TranslationFile | Sheet


def opened(path: Path, languages: tuple[str, str], layout: Layout | None = None) -> Opened:
    """The file, its languages checked; the kind is by default what the file's name shows."""
    layout = layout or Layout()
    layout.check()
    wanted = Languages(*languages, layout.tags)
    kind = layout.kind or translation_kind(path)
    if kind == "xlsx":
        return Sheet(path, layout.sheet or "", layout.header_row)
    if kind == "tmx":
        return tmx.read(path, wanted)
    return replace(xliff.read(path, wanted), score_all=layout.locked == "score")
