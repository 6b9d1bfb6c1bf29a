"""XML in any encoding, with the offsets of elements, for notes in the original text; text of segments."""

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from features.basics.errors import InputError, quoted
from features.storage.files import DAMAGED_GZIP, MAX_LINE, damage_of, open_binary

_MAX_BYTES = 1 << 30  # bytes: a file is read whole
_BLOCK = 1 << 20  # bytes that are read, and parsed, at once
_MAX_DEPTH = 200  # elements in each other
_MAX_ELEMENTS = 200_000  # in a unit, and between two
_XML = "http://www.w3.org/XML/1998/namespace"
_BETWEEN = "\x1f"  # no character of XML: stands between a namespace, a name and a prefix
# The byte order mark, or the first character without one (XML 1.0, appendix F); the longer ones first.
_STARTS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARED = re.compile(r"\ufeff?<\?xml\s[^>]*?\bencoding\s*=\s*([\"'])(.*?)\1")
# Text codecs that are no file encodings: for host names, for escapes, and those that hide markup.
_NO_FILE_ENCODINGS = {
    "idna",
    "punycode",
    "utf-7",
    "unicode-escape",
    "raw-unicode-escape",
    "undefined",
    "charmap",
}
# What programs write under the name of the older standard.
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "cp950"}


@dataclass(eq=False)
class Element:
    """An element: `start`, `inner_end` (of its content) and `end` are UTF-8 byte offsets.

    Attributes without a namespace have their names, `xml:lang` and its like too, others `{NAMESPACE}NAME`.
    """

    namespace: str
    name: str
    prefix: str
    attributes: Mapping[str, str]
    start: int
    inner_end: int = 0
    end: int = 0
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child for child in self.children if isinstance(child, str))

    def members(self, name: str = "") -> Iterator["Element"]:
        """Children in the namespace of this element, of one name or of any."""
        for child in self.children:
            if not isinstance(child, Element) or child.namespace != self.namespace:
                continue
            if not name or child.name == name:
                yield child

    def first(self, name: str) -> "Element | None":
        return next(self.members(name), None)


def note_element(prefix: str, name: str, attribute: tuple[str, str], label: str, text: str) -> str:
    """An element with a text, an attribute (name, value) and the prefix of the element around it."""
    content = escape(f"{label}: {text}" if label else text)
    return f'<{prefix}{name} {attribute[0]}="{attribute[1]}">{content}</{prefix}{name}>'


@dataclass(frozen=True)
class Edit:
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Document:
    path: Path
    content: bytes
    codec: str

    @classmethod
    def read(cls, path: Path) -> "Document":
        try:
            text, codec = decoded(_bytes(path), path)
            return cls(path, text.encode("utf-8"), codec)
        except MemoryError:
            raise InputError("does not fit into memory", location=path, remedy="split it") from None

    def edited(self, edits: Sequence[Edit]) -> bytes:
        pieces, done = [], 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            pieces += [self.content[done : edit.start], edit.text.encode("utf-8")]
            done = edit.end
        whole = b"".join([*pieces, self.content[done:]])
        return whole.decode("utf-8").encode(self.codec, "xmlcharrefreplace")


def _bytes(path: Path) -> bytearray:
    raw, tag = bytearray(), 0  # tag: offset of the last one
    with open_binary(path) as stream:
        try:
            for block in iter(partial(stream.read, _BLOCK), b""):
                if b"<" in block:
                    tag = len(raw) + block.rindex(b"<")
                raw += block
                if len(raw) - tag > 4 * MAX_LINE:  # bytes: no encoding has more for a character
                    raise _too_long(path, 1 + raw.count(b"\n", 0, tag))
                if len(raw) > _MAX_BYTES:
                    raise InputError("is larger than 1 GiB", location=path, remedy="split it")
        except DAMAGED_GZIP as error:
            raise InputError(damage_of(error), location=path) from None
    return raw


def _too_long(*location: object) -> InputError:
    return InputError("text longer than 16 MiB", location=":".join(map(str, location)), remedy="split it")


@dataclass
class Walk(ABC):
    """Reads a document and tells subclasses of its elements, with those around each."""

    document: Document
    namespaces: set[str] = field(default_factory=set)  # that have been declared
    _open: list[Element] = field(default_factory=list)
    _depth: int = 0  # 1 + number of elements around the open unit; 0: no unit is open
    _size: int = 0  # characters and attributes of the open unit; outside of units, of the open element
    _elements: int = 0  # since the last unit

    @abstractmethod
    def opened(self, element: Element, around: Sequence[Element]) -> None:
        """Called at the start of every element outside of units."""

    @abstractmethod
    def is_unit(self, element: Element, around: Sequence[Element]) -> bool:
        """Whether an element is read whole, with its children."""

    @abstractmethod
    def closed(self, unit: Element, around: Sequence[Element]) -> None:
        """Called at the end of every unit."""

    def run(self) -> None:
        """Raises InputError, with line and column, for XML that is damaged, too deep, or needs entities."""
        parser = expat.ParserCreate("utf-8", _BETWEEN)
        parser.namespace_prefixes = True
        parser.buffer_text = True

        def place() -> str:
            return f"{self.document.path}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"

        def start(name: str, attributes: dict[str, str]) -> None:
            if len(self._open) >= _MAX_DEPTH:
                raise InputError(f"elements are nested more than {_MAX_DEPTH} deep", location=place())
            self._elements += 1
            if self._elements > _MAX_ELEMENTS:
                problem = f"more than {_MAX_ELEMENTS:,} elements in a unit, or between two"
                raise InputError(problem, location=place(), remedy="split it")
            if not self._depth:
                self._size = 0
            for key, value in attributes.items():
                grow(len(key) + len(value))
            namespace, local, prefix = _name(name)
            named = {_attribute(key): value for key, value in attributes.items()}
            prefix = f"{prefix}:" if prefix else ""
            self._start(Element(namespace, local, prefix, named, parser.CurrentByteIndex))

        def grow(size: int) -> None:
            self._size += size
            if self._size > MAX_LINE:
                raise _too_long(place())

        def text(data: str) -> None:
            grow(len(data))
            if self._depth:
                self._open[-1].children.append(data)

        def unknown(name: str, *_: Any) -> None:
            raise InputError(
                f"the entity {quoted(name)} is not one of XML",
                location=place(),
                remedy="entities are not expanded: write their characters instead",
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = lambda _: self._end(parser.CurrentByteIndex)
        parser.CharacterDataHandler = text
        parser.StartNamespaceDeclHandler = lambda _, namespace: self.namespaces.add(namespace or "")
        parser.EntityDeclHandler = unknown
        parser.SkippedEntityHandler = unknown
        try:
            content = memoryview(self.document.content)
            for start_of_block in range(0, len(content), _BLOCK):
                parser.Parse(content[start_of_block : start_of_block + _BLOCK], False)
                if start_of_block - parser.CurrentByteIndex > MAX_LINE:  # in a tag or a comment
                    raise _too_long(place())
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            location = f"{self.document.path}:{error.lineno}:{error.offset + 1}"
            reason = expat.ErrorString(error.code)
            raise InputError(f"not well-formed XML ({reason})", location=location) from None

    def _start(self, element: Element) -> None:
        if self._depth:
            self._open[-1].children.append(element)
        elif self.is_unit(element, self._open):
            self._depth = len(self._open) + 1
        else:
            self.opened(element, self._open)
        self._open.append(element)

    def _end(self, place: int) -> None:
        element = self._open.pop()
        content = self.document.content
        if element.children or content[place - 2 : place] != b"/>" or not self._depth:
            element.inner_end, element.end = place, content.find(b">", place) + 1
        else:  # an empty tag: expat is behind it already
            element.inner_end = element.end = place
        if self._depth == len(self._open) + 1:
            self._depth = self._elements = 0
            self.closed(element, self._open)
        if not self._depth:
            self._size = 0


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


def decoded(raw: bytes | bytearray, path: Path) -> tuple[str, str]:
    """The text of an XML file with its byte order mark, and the codec that gives the same bytes."""
    seen = next((codec for start, codec in _STARTS if raw.startswith(start)), None)
    name = _declared(raw[:1024].decode(seen or "latin-1", "ignore"))
    declared = _codec(name, path) if name else "utf-8"
    codec = seen or declared
    text, codec = _decode(raw, codec, name or codec, path)
    if name and (_family(declared) != _family(seen or declared) or _declared(text) != name):
        raise InputError(
            f"declares the encoding {quoted(name)}, but is written in another",
            location=f"{path}:1",
            remedy="name its real encoding in the XML declaration",
        )
    return text, codec


def _declared(text: str) -> str:
    found = _DECLARED.match(text)
    return found[2] if found else ""


def _family(codec: str) -> str:
    return re.sub("-(le|be|sig)$", "", codec)


def _codec(name: str, path: Path) -> str:
    try:
        known = codecs.lookup(name) if re.fullmatch("[A-Za-z][A-Za-z0-9._-]*", name) else None
    except LookupError:
        known = None
    if known is None:
        raise InputError(
            f"the encoding {quoted(name)} is not known", location=f"{path}:1", remedy="convert it to UTF-8"
        )
    if known.name in _NO_FILE_ENCODINGS or not known._is_text_encoding:
        raise InputError(
            f"{quoted(name)} is no encoding of a text file",
            location=f"{path}:1",
            remedy="convert it to UTF-8",
        )
    return "utf-8" if known.name == "utf-8-sig" else known.name


def _decode(raw: bytes | bytearray, codec: str, name: str, path: Path) -> tuple[str, str]:
    try:
        return raw.decode(codec), codec
    except UnicodeError as error:
        if codec in _WIDER:
            return _decode(raw, _WIDER[codec], name, path)
        place = error.start if isinstance(error, UnicodeDecodeError) else 0
        raise InputError(
            f"byte {place + 1:,} is not of the encoding {quoted(name)}",
            location=path,
            remedy="convert the file, for example with iconv -t UTF-8, and adapt its XML declaration",
        ) from None


_AROUND_TEXT = ("g", "pc", "mrk", "hi")  # what other elements hold is code, or text of its own
_KINDS = ("mtype", "ctype", "type", "subType")
_DELETED = re.compile(r"(x-|\w+:).*delet(ed|e|ion)", re.IGNORECASE)
_BLANKS = " \t\r\n"  # of XML; others, such as no-break spaces, are text
_LINE_ENDS = re.compile(f"[{_BLANKS}]*[\t\r\n][{_BLANKS}]*")
_BREAKS = ("lb", "pb", "br", "tab", "linebreak", "pagebreak")
_BREAK_CODE = re.compile(
    r"\s+|\\[nrt]|\s*</?([\w-]+:)?(br|tab|cr|p|hr|li|tr|td|th|div)\b[^<>]*>\s*", re.IGNORECASE
)


def plain(element: Element, codes: Mapping[str, str] | None = None) -> str:
    """The text of an element on one line, without deleted parts; tags for breaks separate words."""
    pieces: list[str] = []
    deleted: set[str] = set()  # ids of deletions that have begun and not ended

    def add(parent: Element) -> None:
        for child in parent.children:
            if isinstance(child, str):
                if not deleted:
                    pieces.append(child)
            elif child.namespace != parent.namespace:
                continue
            elif child.name == "sm" and _is_deletion(child):
                deleted.add(child.attributes.get("id", ""))
            elif child.name == "em":
                deleted.discard(child.attributes.get("startRef", ""))
            elif child.name in _AROUND_TEXT:
                if not _is_deletion(child):
                    add(child)
            elif not deleted and _is_break(child, codes or {}):
                pieces.append("\n")

    add(element)
    return _LINE_ENDS.sub(" ", "".join(pieces)).strip(_BLANKS)


def _is_deletion(element: Element) -> bool:
    if any(_DELETED.fullmatch(element.attributes.get(kind, "")) for kind in _KINDS):
        return True
    return any(
        key.endswith("}tctype") and value.startswith("del") for key, value in element.attributes.items()
    )


def _is_break(element: Element, codes: Mapping[str, str]) -> bool:
    attributes = element.attributes
    if any(re.split("[-:]", attributes.get(kind, "").lower())[-1] in _BREAKS for kind in _KINDS):
        return True
    equivalents = [attributes.get(name, "") for name in ("equiv-text", "equiv", "disp")]
    originals = [codes.get(attributes.get(name, ""), "") for name in ("dataRef", "id", "xid")]
    return any(_BREAK_CODE.fullmatch(code) for code in (element.text, *equivalents, *originals))


def marked_segments(element: Element) -> Sequence[Element]:
    marks: list[Element] = []
    for child in element.members():
        if child.name == "mrk" and child.attributes.get("mtype") == "seg":
            marks.append(child)
        elif child.name in _AROUND_TEXT and not _is_deletion(child):
            marks += marked_segments(child)
    return marks
