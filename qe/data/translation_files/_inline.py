"""The plain text of a segment with inline tags."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qe.data.translation_files._xml import Element

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
    reader = _Text(codes or {})
    reader.add(element)
    return _LINE_ENDS.sub(" ", "".join(reader.pieces)).strip(_BLANKS)


@dataclass
class _Text:
    codes: Mapping[str, str]
    pieces: list[str] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)  # ids of deletions that have begun and not ended

    def add(self, element: Element) -> None:
        for child in element.children:
            if isinstance(child, str):
                if not self.deleted:
                    self.pieces.append(child)
            elif child.namespace == element.namespace:
                self._add_element(child)

    def _add_element(self, element: Element) -> None:
        if element.name == "sm" and _is_deletion(element):
            self.deleted.add(element.attributes.get("id", ""))
        elif element.name == "em":
            self.deleted.discard(element.attributes.get("startRef", ""))
        elif element.name in _AROUND_TEXT:
            if not _is_deletion(element):
                self.add(element)
        elif not self.deleted and _is_break(element, self.codes):
            self.pieces.append("\n")


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
