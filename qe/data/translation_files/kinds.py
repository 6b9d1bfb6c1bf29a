"""The kinds of files of translation tools, by their endings, and rows of such files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

KINDS = {
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".mqxliff": "xliff",  # memoQ
    ".mxliff": "xliff",  # Phrase
    ".sdlxliff": "xliff",  # Trados
    ".tmx": "tmx",
    ".xlsx": "xlsx",
}
_GZIPPED = ("xliff", "tmx")


def translation_kind(path: Path) -> str | None:
    """The kind that a file's name says, `.gz` of XLIFF and TMX aside; None for others.

    >>> [translation_kind(Path(name)) for name in ("a.mqxliff", "a.tmx.gz", "a.tsv")]
    ['xliff', 'tmx', None]
    """
    name = path.name.lower()
    kind = KINDS.get(Path(name.removesuffix(".gz")).suffix)
    return None if name.endswith(".gz") and kind not in _GZIPPED else kind


@dataclass(frozen=True)
class FileRow:
    """A segment or a row of a sheet, with reasons why it cannot be read or needs no score."""

    texts: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)
    number: int = 0
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.reasons) or any(self.texts.values())
