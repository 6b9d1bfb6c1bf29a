"""XLIFF 1.0 to 2.2, as translation tools write it; tags of Phrase are part of the text in its files."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, groupby
from pathlib import Path

from features.basics.errors import InputError, quoted
from qe.data.translation_files._xml import (
    Document,
    Edit,
    Element,
    Place,
    Walk,
    marked_segments,
    note_element,
    plain,
)
from qe.data.translation_files.segments import (
    MARK,
    Languages,
    Segment,
    State,
    TranslationFile,
    notes_in,
    outside_of,
)

_PHRASE = "http://www.memsource.com/mxlf/"
_TAG = re.compile(r"(\{(?:[1-9]\d{0,3}|j)\}|\{[\w^]{1,8}>|<[\w^]{1,8}\})")  # {j} joins segments


def _split_tags(element: Element) -> None:
    """Put an element `x` in place of every tag, in the element and in those inside it."""
    children: list[Element | str] = []
    for is_text, group in groupby(element.children, key=lambda child: isinstance(child, str)):
        if is_text:
            for number, part in enumerate(_TAG.split("".join(map(str, group)))):
                tag = {"id": part.strip("{}<>")}
                placeholder = Element(element.namespace, "x", element.prefix, tag, element.start)
                children.append(placeholder if number % 2 else part)
            continue
        for child in group:
            if isinstance(child, Element):
                _split_tags(child)
                children.append(child)
    element.children = children


def _phrase_codes(unit: Element) -> dict[str, str]:
    children = (child for child in unit.children if isinstance(child, Element))
    marks = (mark for child in children if child.namespace.startswith(_PHRASE) for mark in child.members())
    contents = ((mark.attributes.get("id", ""), mark.first("content")) for mark in marks)
    return {name: content.text for name, content in contents if content is not None}


_NAMESPACE = "urn:oasis:names:tc:xliff:document:"
_SDL = "http://sdl.com/FileTypes/SdlXliff/1.0"
_GROUPS = ("prop-group", "context-group", "metadata", "metaGroup")
# Elements with a value (of XLIFF 1, of the module metadata of XLIFF 2, of Trados), and where its type stands.
_TYPES: Mapping[str, str] = {"prop": "prop-type", "context": "context-type", "meta": "type", "value": "key"}
Segments = tuple[list[Segment], list[Edit]]  # with edits that remove notes of an earlier scoring


def _segments_1(unit: Element, name: str, codes: Mapping[str, str], state: State) -> Segments:
    # Segments are the marks `seg` of the target, and the marks of `seg-source` that it lacks; for a
    # translation without marks, the unit itself.
    target = unit.first("target")
    whole = _text(unit, "source", codes), _text(unit, "target", codes)
    sources, targets = (_marks(unit.first(side), codes) for side in ("seg-source", "target"))
    if len(targets) == 1 and not sources:
        sources = dict.fromkeys(targets, whole[0])
    texts = {mid: (sources.get(mid, ""), targets.get(mid, "")) for mid in {**sources, **targets}}
    if not texts or (target is not None and not marked_segments(target) and whole[1]):
        texts = {"": whole}
    place = None if target is None else Place(target.end, target.end)
    state = state if target is None else state.within(target)
    parts = (part for part in unit.children if isinstance(part, Element) and part.namespace == _SDL)
    definitions = {seg.attributes.get("id", ""): seg for part in parts for seg in part.members("seg")}
    properties = _properties(unit)
    segments = []
    for mid, sides in texts.items():
        label = mid if len(texts) > 1 else ""
        notes = {**notes_in(unit.members("note"), "from", label, texts), **properties}
        notes |= _properties(definitions[mid]) if mid in definitions else {}
        note = partial(note_element, unit.prefix, "note", ("from", MARK), label)
        own_state = state.within(definitions[mid]) if mid in definitions else state
        segments.append(Segment(f"{name}/{mid}" if mid else name, *sides, notes, place, note, own_state))
    scored = [note for note in unit.members("note") if note.attributes.get("from") == MARK]
    return segments, [Edit(note.start, note.end, "") for note in scored]


def _properties(holder: Element) -> dict[str, str]:
    """Columns `prop:TYPE`: attributes of tools, and elements that hold a value."""
    own = {name: text for name, text in holder.attributes.items() if name[0] == "{"}
    if holder.namespace == _SDL:
        own = {name: text for name, text in holder.attributes.items() if name != "id"}
    columns = {f"prop:{name.rpartition('}')[2]}": text for name, text in own.items()}
    for child in holder.children:
        if isinstance(child, Element) and child.name in _GROUPS:
            columns |= _properties(child)
        elif isinstance(child, Element) and (kind := child.attributes.get(_TYPES.get(child.name, ""))):
            columns[f"prop:{kind}"] = child.text.strip()
    return columns


def _text(unit: Element, name: str, codes: Mapping[str, str]) -> str:
    element = unit.first(name)
    return "" if element is None else plain(element, codes)


def _marks(element: Element | None, codes: Mapping[str, str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for number, mark in enumerate([] if element is None else marked_segments(element), start=1):
        mid = mark.attributes.get("mid") or str(number)
        texts[mid] = " ".join(filter(None, (texts.get(mid), plain(mark, codes))))
    return texts


def _segments_2(unit: Element, name: str, codes: Mapping[str, str], state: State) -> Segments:
    listed = list(unit.members("segment"))
    ids = [part.attributes.get("id", "") for part in listed]
    parts: dict[str, Element] = {}
    for position, (part, own_id) in enumerate(zip(listed, ids, strict=True), start=1):
        if not own_id or own_id in parts:
            numbers = (str(n) for n in chain([position], count(len(listed) + 1)))
            own_id = next(n for n in numbers if n not in parts and n not in ids)
        parts[own_id] = part
    data = unit.first("originalData")
    codes = {each.attributes.get("id", ""): each.text for each in (data.members("data") if data else ())}
    holder = unit.first("notes")
    notes = [] if holder is None else list(holder.members("note"))
    scored = [note for note in notes if note.attributes.get("category") == MARK]
    first = next(unit.members(), None)
    frame = f"<{unit.prefix}notes>", f"</{unit.prefix}notes>"
    place = None if first is None else Place(first.start, first.start, frame)
    if holder is not None and len(scored) == len(list(holder.members())):
        scored = [holder]
    elif holder is not None:
        place = Place(holder.inner_end, holder.inner_end)
    segments = []
    for number, part in parts.items():
        label = number if len(parts) > 1 else ""
        source, target = _text(part, "source", codes), _text(part, "target", codes)
        note = partial(note_element, unit.prefix, "note", ("category", MARK), label)
        columns = {**notes_in(notes, "category", label, parts), **_properties(unit), **_properties(part)}
        own_state = state.within(part)
        segments.append(Segment(f"{name}/{number}", source, target, columns, place, note, own_state))
    return segments, [Edit(note.start, note.end, "") for note in scored]


@dataclass(frozen=True)
class _Version:
    """Name of unit elements, elements that may hold one, attribute of each side's language, side of texts."""

    unit: str
    around: Sequence[str]
    languages: Mapping[str, str]
    texts: Mapping[str, str]
    segments: Callable[[Element, str, Mapping[str, str], State], Segments]


_FIRST = _Version(
    "trans-unit",
    ("xliff", "file", "body", "group", "bin-unit"),
    {"source": "source-language", "target": "target-language"},
    {"source": "source", "seg-source": "source", "target": "target"},
    _segments_1,
)
_SECOND = _Version(
    "unit",
    ("xliff", "file", "group"),
    {"source": "srcLang", "target": "trgLang"},
    {"source": "source", "target": "target"},
    _segments_2,
)
_VERSIONS: Mapping[str, _Version] = {
    **dict.fromkeys(("1.0", "1.1", "1.2"), _FIRST),
    **dict.fromkeys(("2.0", "2.1", "2.2"), _SECOND),
}


def read(path: Path, languages: Languages) -> TranslationFile:
    """The file; raises InputError if it is in other languages."""
    reader = _Reader(Document.read(path), languages=languages)
    reader.run()
    return TranslationFile(reader.document, reader.segments, reader.edits)


@dataclass
class _Reader(Walk):
    languages: Languages = field(kw_only=True)
    namespace: str = ""
    version: _Version = _FIRST
    files: int = 0
    units: int = 0
    codes: dict[str, str] = field(default_factory=dict)  # of the file, by the ids of Trados
    segments: list[Segment] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def opened(self, element: Element, around: Sequence[Element]) -> None:
        if not around:
            known = not element.namespace or element.namespace.startswith(_NAMESPACE)
            if element.name != "xliff" or not known:
                raise InputError("is no XLIFF file (no element `xliff`)", location=self.document.path)
            version = element.attributes.get("version", "")
            if version not in _VERSIONS:
                raise InputError(
                    f"XLIFF of version {quoted(version)} is not known",
                    location=self.document.path,
                    remedy=f"known: {', '.join(_VERSIONS)}",
                )
            self.namespace, self.version = element.namespace, _VERSIONS[version]
        elif element.name == "file" and self._is_xliff(element, around):
            self.files += 1
            self.codes = {}
        elif element.name in (*self.version.texts, "segment") and self._is_xliff(element, around):
            raise outside_of(self.version.unit, element, self.document.path)
        else:
            return
        name = element.attributes.get("original") or element.attributes.get("id")
        location = f"<{element.name}{f' {name}' if name else ''}>"
        for side, attribute in self.version.languages.items():
            if attribute in element.attributes:
                self.languages.check(side, element.attributes[attribute], location, self.document.path)

    def _is_xliff(self, element: Element, around: Sequence[Element]) -> bool:
        return element.namespace == self.namespace and all(
            outer.namespace == self.namespace and outer.name in self.version.around for outer in around
        )

    def is_unit(self, element: Element, around: Sequence[Element]) -> bool:
        if element.name == "tag" and element.namespace == _SDL:
            return True
        return bool(around) and element.name == self.version.unit and self._is_xliff(element, around)

    def closed(self, unit: Element, around: Sequence[Element]) -> None:
        if unit.namespace == _SDL:
            for part in unit.members("ph"):
                ends = part.attributes.get("word-end") == "true"
                self.codes[unit.attributes.get("id", "")] = "\n" if ends else plain(part)
            return
        self.units += 1
        number = unit.attributes.get("id") or str(self.units)
        name = number if self.files < 2 else f"{self.files}:{number}"  # ids are unique within a file
        codes = self.codes
        if any(namespace.startswith(_PHRASE) for namespace in self.namespaces):
            codes = {**codes, **_phrase_codes(unit)}
            for part in unit.members():
                if part.name in self.version.texts:
                    _split_tags(part)
        state = State().within(*around, unit)
        segments, edits = self.version.segments(unit, name, codes, state)
        self.segments += segments
        self.edits += edits
        for text, side in self.version.texts.items():
            for side_element in (holder.first(text) for holder in (unit, *unit.members("segment"))):
                if side_element is not None and "xml:lang" in side_element.attributes:
                    tag = side_element.attributes["xml:lang"]
                    self.languages.check(side, tag, f"unit {number}", self.document.path)
