"""Content of a translation tool's file: kinds, segments with states, places of their notes, languages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from features.basics.errors import InputError, quoted
from features.text.languages import is_language_tag, speaks
from qe.data.translation_files._xml import Document, Edit, Element, Place

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


_NOT_LOCKED = ("", "0", "false", "no", "unlocked")
_MEMOQ_STATUS = "{MQXliff}status"
_UNTRANSLATED = ("new", "needs-translation", "initial", "NotStarted")  # XLIFF 1.2, XLIFF 2, memoQ


@dataclass(frozen=True)
class State:
    """The state of a segment; `stage` of the translation is the file's own word, empty if it has none."""

    translate: bool = True
    locked: bool = False
    stage: str = ""

    def within(self, *elements: Element) -> "State":
        """The state inside elements, the outermost first; each overrides what it says itself."""
        state = self
        for attributes in (element.attributes for element in elements):
            locks = [value for key, value in attributes.items() if key.rpartition("}")[2] == "locked"]
            stages = (attributes.get(name) for name in ("state", "conf", _MEMOQ_STATUS))  # `conf` is Trados'
            state = State(
                attributes["translate"] != "no" if "translate" in attributes else state.translate,
                locks[0].lower() not in _NOT_LOCKED if locks else state.locked,
                next(filter(None, stages), state.stage),
            )
        return state

    def reason(self, source: str, target: str) -> str:
        """Why a segment with this source and translation needs no score; empty if it needs one."""
        if not self.translate:
            return "not to be translated"
        if self.locked:
            return "locked"
        is_copy = self.stage in _UNTRANSLATED and source == target != ""
        return f"not translated yet: a copy of the source, state '{self.stage}'" if is_copy else ""

    def __str__(self) -> str:
        marks = ("" if self.translate else "translate=no", "locked" if self.locked else "", self.stage)
        return ", ".join(filter(None, marks))


MARK = "qe"  # who wrote a note


@dataclass
class Segment:
    """A source and its translation.

    notes   column (`note`, `note:AUTHOR`, `prop:TYPE`) -> text by people or tools
    place   of a note about the segment; None if the file has none
    note    the text of a note -> its XML
    """

    id: str
    source: str
    target: str
    notes: Mapping[str, str] = field(default_factory=dict)
    place: Place | None = None
    note: Callable[[str], str] = str
    state: State = field(default_factory=State)


def outside_of(unit: str, element: Element, location: object) -> InputError:
    """The error of a text that is in no unit: it would be no segment, and be lost."""
    return InputError(
        f"<{element.name}> lies outside of any <{unit}>, so that it would be lost",
        location=location,
        remedy=f"move it into a <{unit}>",
    )


@dataclass(frozen=True)
class Languages:
    """The required languages (BCP 47), and a file's tags for them, by side, if they differ."""

    source: str
    target: str
    tags: Mapping[str, str] = field(default_factory=dict)

    def wanted(self, side: str) -> str:
        return self.source if side == "source" else self.target

    def fit(self, tag: str, side: str) -> bool:
        expected = self.tags.get(side)
        return tag.lower() == expected.lower() if expected else speaks(tag, self.wanted(side))

    def check(self, side: str, tag: str, place: str, path: Path) -> None:
        """Raises InputError for a side's tag at a place of the file, if it is another language."""
        if not tag or self.fit(tag, side):
            return
        wanted = self.wanted(side)
        problem = f"{place}: the {side} is in {quoted(tag)}, not in '{wanted}'"
        remedy = "take a model, or name the languages, of this file"
        if not is_language_tag(tag):
            problem = f"{place}: the language {quoted(tag)} of the {side} is not known"
            remedy = f"if it is '{wanted}', say --languages {side}={tag}"
        raise InputError(problem, location=path, remedy=remedy)


@dataclass(frozen=True)
class TranslationFile:
    """A file as it was read; `removals` remove the notes of an earlier scoring."""

    document: Document
    segments: Sequence[Segment]
    removals: Sequence[Edit]
    score_all: bool = False
    unit: ClassVar[str] = "segment "

    @cached_property
    def rows(self) -> Sequence[FileRow]:
        rows = []
        for segment in self.segments:
            source, target, state = segment.source, segment.target, segment.state
            absent = {"target": "no translation"} if not target else {}
            absent |= {"source": "no source"} if not source else {}
            columns = {"id": segment.id, "source": source, "target": target, **segment.notes}
            columns |= {"state": str(state)} if str(state) else {}
            reason = "" if self.score_all else state.reason(source, target)
            rows.append(FileRow(columns, absent, reason=reason))
        return rows

    @cached_property
    def header(self) -> list[str]:
        return list(
            dict.fromkeys(["id", "source", "target", *(name for row in self.rows for name in row.texts)])
        )

    def with_notes(self, notes: Sequence[str | None]) -> bytes:
        """The file with the new notes instead of earlier ones, where it has a place for them."""
        placed = [
            (segment.place, segment.note(text))
            for segment, text in zip(self.segments, notes, strict=True)
            if text is not None and segment.place is not None
        ]
        edits = []  # adjacent notes of one place share a frame
        for place, group in groupby(placed, key=lambda note: note[0]):
            before, after = place.frame
            text = "".join([before, *(text for _, text in group), after])
            edits.append(Edit(place.start, place.end, text))
        return self.document.edited([*self.removals, *edits])


def notes_in(
    elements: Iterable[Element], attribute: str, segment: str = "", ids: Iterable[str] = ()
) -> dict[str, str]:
    """Notes as columns: `note`, or `note:AUTHOR` by the attribute that names the author or kind.

    Several of one name are lines of one text; a score as `qe score` writes it is the number alone. Where
    notes of several segments are together, those that begin with another of the `ids` are left out.
    """
    columns: dict[str, list[str]] = {}
    for element in elements:
        text = element.text.strip()
        if segment and text.startswith(tuple(f"{name}: " for name in ids if name != segment)):
            continue
        author = element.attributes.get(attribute, "")
        name = f"{element.name}:{author}" if author else element.name
        text = text.removeprefix(f"{segment}: ")
        word, _, number = text.partition(";")[0].partition(" ")
        columns.setdefault(name, []).append(number.strip() if word.rstrip(":") == "score" else text)
    return {name: "\n".join(texts) for name, texts in columns.items()}
