"""XML with places: what is read is decoded, what is written are insertions into the bytes that were there."""

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from features.basics.errors import InputError

MARK = "qe"  # who wrote a note
_LONGEST = 1 << 30  # bytes: a file is read whole


@dataclass(frozen=True)
class Edit:
    """Bytes from `start` to `end` give way to `text`."""

    start: int
    end: int
    text: str


@dataclass
class Unit:
    """A source and its translation.

    write  text of a note -> the edit that puts it there; None where the file has no place for one
    """

    id: str
    source: str = ""
    target: str = ""
    write: Callable[[str], Edit] | None = None


@dataclass
class Element:
    """An element that is open."""

    name: str
    attributes: Mapping[str, str]
    prefix: str
    start: int


@dataclass
class Content:
    """The bytes of a file and their encoding."""

    raw: bytes
    encoding: str = "utf-8"

    def after_tag(self, start: int) -> int:
        """The end of the end tag that begins at `start`."""
        mark = ">".encode(self.encoding)
        return self.raw.index(mark, start) + len(mark)

    def prefix(self, start: int) -> str:
        """The namespace prefix of the tag that begins at `start`, with its colon."""
        text = self.raw[start : start + 400].decode(self.encoding, "ignore")
        matched = re.match(r"</?([^\s:/>]+:)?", text)
        return (matched[1] or "") if matched else ""

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The bytes with the edits made; all others are as they were."""
        pieces, done = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            pieces += [self.raw[done : edit.start], edit.text.encode(self.encoding, "xmlcharrefreplace")]
            done = edit.end
        return b"".join([*pieces, self.raw[done:]])


@dataclass
class Reader:
    """Walks a file; what is done with an element is up to the functions of its kind.

    open   the elements that are open, outermost first
    edits  of notes that an earlier scoring has left
    """

    path: Path
    content: Content
    opened: Callable[["Reader", Element], None]
    closed: Callable[["Reader", Element], None]
    text: Callable[["Reader", str], None]
    open: list[Element] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)

    def inside(self, name: str) -> bool:
        """Whether an element of that name is open."""
        return any(element.name == name for element in self.open)

    def parse(self) -> None:
        """Raises InputError, with line and column, for XML that is damaged or declares entities."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True

        def start(name: str, attributes: dict[str, str]) -> None:
            place = parser.CurrentByteIndex
            local = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
            element = Element(name.rpartition(" ")[2], local, self.content.prefix(place), place)
            self.open.append(element)
            self.opened(self, element)

        def end(_: str) -> None:
            element = self.open[-1]
            self.state["end"] = parser.CurrentByteIndex
            self.closed(self, element)
            self.open.pop()

        def declared(name: str, *_: Any) -> None:
            raise InputError(
                f"line {parser.CurrentLineNumber}: it declares the entity '{name}'",
                where=self.path,
                remedy="entities are not expanded: write out what they stand for",
            )

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = lambda data: self.text(self, data)
        parser.EntityDeclHandler = declared
        try:
            parser.Parse(self.content.raw, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            where = f"{self.path}:{error.lineno}:{error.offset + 1}"
            raise InputError(f"not well-formed XML ({reason})", where=where) from None


def read(path: Path) -> Content:
    """The bytes of a file. Raises InputError if there is none, or it is in an encoding that is not known."""
    if not path.is_file():
        raise InputError("no such file", where=path)
    if path.stat().st_size > _LONGEST:
        raise InputError("is larger than 1 GiB", where=path, remedy="split it")
    raw = path.read_bytes()
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if raw.startswith(mark):
            return Content(raw, encoding)
    declared = re.match(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*encoding=[\"']([A-Za-z0-9._-]+)", raw[:400])
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        return Content(raw, codecs.lookup(name).name)
    except LookupError:
        raise InputError(f"the encoding '{name}' is not known", where=path) from None
