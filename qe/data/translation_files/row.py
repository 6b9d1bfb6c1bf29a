"""A row of a file of a translation tool, as of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FileRow:
    """A segment or a row of a sheet.

    texts    column -> text
    reasons  column -> why its text cannot be read
    number   the row of a sheet, from 1
    """

    texts: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)
    number: int = 0

    def __bool__(self) -> bool:
        return bool(self.reasons) or any(self.texts.values())
