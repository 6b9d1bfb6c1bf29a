"""Streams on which text of unknown origin does nothing to a terminal."""

from typing import Any, TextIO

from features.basics.errors import visible


class VisibleStream:
    """Writes text with control characters and overrides of direction spelled out."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)
