"""XLIFF 1.0 to 2.2, as translation tools write it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from features.basics.errors import InputError, quoted
from qe.data.translation_files import _xliff1, _xliff2
from qe.data.translation_files._inline import plain
from qe.data.translation_files._xml import Document, Edit, Element, Walk
from qe.data.translation_files.segments import Declared, Segment, TranslationFile, outside_of

_NAMESPACE = "urn:oasis:names:tc:xliff:document:"
_SDL = "http://sdl.com/FileTypes/SdlXliff/1.0"


@dataclass(frozen=True)
class _Version:
    unit: str
    around: Sequence[str]
    languages: Mapping[str, str]
    texts: Mapping[str, str]
    segments: Callable[[Element, str, Mapping[str, str]], tuple[list[Segment], list[Edit]]]


_FIRST = _Version(_xliff1.UNIT, _xliff1.AROUND, _xliff1.LANGUAGES, _xliff1.TEXTS, _xliff1.segments)
_SECOND = _Version(_xliff2.UNIT, _xliff2.AROUND, _xliff2.LANGUAGES, _xliff2.TEXTS, _xliff2.segments)
_VERSIONS: Mapping[str, _Version] = {
    **dict.fromkeys(("1.0", "1.1", "1.2"), _FIRST),
    **dict.fromkeys(("2.0", "2.1", "2.2"), _SECOND),
}


def read(path: Path) -> TranslationFile:
    """The file. Raises InputError for one that is no XLIFF, or of another version."""
    document = Document.read(path)
    reader = _Reader(path)
    Walk(document, reader.opened, reader.is_kept, reader.whole).run()
    return TranslationFile(document, reader.segments, reader.edits, reader.declared)


@dataclass
class _Reader:
    path: Path
    namespace: str = ""
    version: _Version = _FIRST
    files: int = 0
    units: int = 0
    codes: dict[str, str] = field(default_factory=dict)  # of the file, by the ids of Trados
    segments: list[Segment] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    declared: list[Declared] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)

    def opened(self, element: Element, around: Sequence[Element]) -> None:
        if not around:
            self._begin(element)
        elif element.name == "file" and self._is_own(element, around):
            self.files += 1
            self.codes = {}
        elif element.name in (*self.version.texts, "segment") and self._is_own(element, around):
            raise outside_of(self.version.unit, element, self.path)
        else:
            return
        self._declare(element)

    def _begin(self, root: Element) -> None:
        known = not root.namespace or root.namespace.startswith(_NAMESPACE)
        if root.name != "xliff" or not known:
            raise InputError("is no XLIFF file (no element `xliff`)", location=self.path)
        version = root.attributes.get("version", "")
        if version not in _VERSIONS:
            raise InputError(
                f"XLIFF of version {quoted(version)} is not known",
                location=self.path,
                remedy=f"known: {', '.join(_VERSIONS)}",
            )
        self.namespace, self.version = root.namespace, _VERSIONS[version]

    def _declare(self, element: Element) -> None:
        named = element.attributes.get("original") or element.attributes.get("id")
        location = f"<{element.name}{f' {named}' if named else ''}>"
        for side, attribute in self.version.languages.items():
            if attribute in element.attributes:
                self.declared.append(Declared(side, element.attributes[attribute], location))

    def _is_own(self, element: Element, around: Sequence[Element]) -> bool:
        return element.namespace == self.namespace and all(
            outer.namespace == self.namespace and outer.name in self.version.around for outer in around
        )

    def is_kept(self, element: Element, around: Sequence[Element]) -> bool:
        if element.name == "tag" and element.namespace == _SDL:
            return True
        return bool(around) and element.name == self.version.unit and self._is_own(element, around)

    def whole(self, element: Element, around: Sequence[Element]) -> None:
        if element.namespace == _SDL:
            self._keep_code(element)
            return
        self.units += 1
        own = element.attributes.get("id") or str(self.units)
        name = own if self.files < 2 else f"{self.files}:{own}"  # ids are those of a file
        segments, edits = self.version.segments(element, name, self.codes)
        self._declare_texts(element, own)
        self.segments += segments
        self.edits += edits

    def _keep_code(self, tag: Element) -> None:
        for part in tag.own("ph"):
            ends = part.attributes.get("word-end") == "true"
            self.codes[tag.attributes.get("id", "")] = "\n" if ends else plain(part)

    def _declare_texts(self, unit: Element, name: str) -> None:
        holders = [unit, *unit.own("segment")]
        for text, side in self.version.texts.items():
            for element in filter(None, (holder.first(text) for holder in holders)):
                if "xml:lang" in element.attributes:
                    self.declared.append(Declared(side, element.attributes["xml:lang"], f"unit {name}"))
