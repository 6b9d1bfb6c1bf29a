"""XML with places: elements know where they stand, so notes go into the original text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from features.basics.errors import InputError, quoted
from features.storage.files import DAMAGED_GZIP, damage_of, open_binary
from qe.data.translation_files._encodings import decoded

_LONGEST = 1 << 30  # bytes: a file is read whole
_DEEPEST = 200  # elements in each other
_XML = "http://www.w3.org/XML/1998/namespace"
_BETWEEN = "\x1f"  # no character of XML: stands between a namespace, a name and a prefix


@dataclass(eq=False)
class Element:
    """An element: `start`, `inner_end` (of its content) and `end` are UTF-8 byte offsets.

    attributes  those without a namespace by their names, `xml:lang` and its like by theirs, others as
                `{NAMESPACE}NAME`
    children    elements and text, of elements that are kept
    """

    namespace: str
    name: str
    prefix: str
    attributes: Mapping[str, str]
    start: int
    inner_end: int = 0
    end: int = 0
    children: list["Element | str"] = field(default_factory=list)

    def own(self, name: str = "") -> Iterator["Element"]:
        """Children in the namespace of this element, of one name or of any."""
        for child in self.children:
            if not isinstance(child, Element) or child.namespace != self.namespace:
                continue
            if not name or child.name == name:
                yield child

    def first(self, name: str) -> "Element | None":
        """The first child of a name, in the namespace of this element."""
        return next(self.own(name), None)


def written(prefix: str, name: str, by: tuple[str, str], label: str, text: str) -> str:
    """An element with text, written inside an element that has a prefix.

    `by` is an attribute and its value.
    """
    content = escape(f"{label}: {text}" if label else text)
    return f'<{prefix}{name} {by[0]}="{by[1]}">{content}</{prefix}{name}>'


@dataclass(frozen=True)
class Edit:
    """The text from `start` to `end` gives way to another."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Document:
    """The text of a file as UTF-8, and the codec that its bytes are in."""

    path: Path
    content: bytes
    codec: str

    @classmethod
    def read(cls, path: Path) -> "Document":
        """The document of a plain or gzip file.

        Raises InputError for a file that is not there, is damaged or longer than 1 GiB, or is in an encoding
        that cannot be read.
        """
        text, codec = decoded(_bytes(path), path)
        return cls(path, text.encode("utf-8"), codec)

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with the edits made, in its encoding."""
        pieces, done = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            pieces += [self.content[done : edit.start], edit.text.encode("utf-8")]
            done = edit.end
        whole = b"".join([*pieces, self.content[done:]])
        return whole.decode("utf-8").encode(self.codec, "xmlcharrefreplace")


def _bytes(path: Path) -> bytes:
    with open_binary(path) as stream:
        try:
            raw = _limited(stream)
        except DAMAGED_GZIP as error:
            raise InputError(damage_of(error), location=path) from None
    if len(raw) > _LONGEST:
        raise InputError("is larger than 1 GiB", location=path, remedy="split it")
    return raw


def _limited(stream: IO[bytes]) -> bytes:
    return stream.read(_LONGEST + 1)


@dataclass
class Walk:
    """Reads a document; what is done with its elements is up to the functions of its kind.

    opened  (element, those around it) of every element outside of kept ones, as it begins
    kept    whether an element is to be kept whole, with its children
    whole   (element, those around it) of an element that was kept, as it ends
    """

    document: Document
    opened: Callable[[Element, Sequence[Element]], None]
    kept: Callable[[Element, Sequence[Element]], bool]
    whole: Callable[[Element, Sequence[Element]], None]
    _open: list[Element] = field(default_factory=list)
    _keeping: int = 0  # how many of the open elements lie outside of the one that is kept; 0: none is

    def run(self) -> None:
        """Raises InputError for XML that is damaged, too deep, or needs entities.

        The message has line and column.
        """
        parser = expat.ParserCreate("utf-8", _BETWEEN)
        parser.namespace_prefixes = True
        parser.buffer_text = True

        def place() -> str:
            return f"{self.document.path}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"

        def start(name: str, attributes: dict[str, str]) -> None:
            if len(self._open) >= _DEEPEST:
                raise InputError(f"elements are nested more than {_DEEPEST} deep", location=place())
            self._start(_element(name, attributes, parser.CurrentByteIndex))

        def unknown(name: str, *_: Any) -> None:
            raise InputError(
                f"the entity {quoted(name)} is not one of XML",
                location=place(),
                remedy="entities are not expanded: write out what they stand for",
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = lambda _: self._end(parser.CurrentByteIndex)
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = unknown
        parser.SkippedEntityHandler = unknown
        try:
            parser.Parse(self.document.content, True)
        except expat.ExpatError as error:
            location = f"{self.document.path}:{error.lineno}:{error.offset + 1}"
            reason = expat.ErrorString(error.code)
            raise InputError(f"not well-formed XML ({reason})", location=location) from None

    def _start(self, element: Element) -> None:
        if self._keeping:
            self._open[-1].children.append(element)
        elif self.kept(element, self._open):
            self._keeping = len(self._open) + 1
        else:
            self.opened(element, self._open)
        self._open.append(element)

    def _text(self, data: str) -> None:
        if self._keeping:
            self._open[-1].children.append(data)

    def _end(self, place: int) -> None:
        element = self._open.pop()
        content = self.document.content
        if element.children or content[place - 2 : place] != b"/>" or not self._keeping:
            element.inner_end, element.end = place, content.find(b">", place) + 1
        else:  # an empty tag: expat is behind it already
            element.inner_end = element.end = place
        if self._keeping == len(self._open) + 1:
            self._keeping = 0
            self.whole(element, self._open)


def _element(name: str, attributes: Mapping[str, str], start: int) -> Element:
    namespace, local, prefix = _name(name)
    named = {_attribute(key): value for key, value in attributes.items()}
    return Element(namespace, local, f"{prefix}:" if prefix else "", named, start)


def _name(name: str) -> tuple[str, str, str]:
    parts = name.split(_BETWEEN)
    if len(parts) == 1:
        return "", parts[0], ""
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ""


def _attribute(name: str) -> str:
    namespace, local, _ = _name(name)
    if namespace == _XML:
        return f"xml:{local}"
    return f"{{{namespace}}}{local}" if namespace else local


@dataclass(frozen=True)
class Place:
    """Place of the notes of some segments: what they replace, and what is written around them."""

    start: int
    end: int
    frame: tuple[str, str] = ("", "")


def edits_of(notes: Sequence[tuple[Place, str]]) -> list[Edit]:
    """Notes as edits; neighbours of one place stand in one frame."""
    return [
        Edit(place.start, place.end, "".join([place.frame[0], *(text for _, text in group), place.frame[1]]))
        for place, group in groupby(notes, key=lambda note: note[0])
    ]
