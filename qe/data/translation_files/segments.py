"""Content of a translation tool's file: segments, places of their notes, languages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from features.basics.errors import InputError, quoted
from features.text.languages import is_language_tag, speaks
from qe.data.translation_files._xml import Document, Edit, Element, Place, edits_of
from qe.data.translation_files.row import FileRow

MARK = "qe"  # who wrote a note
_ABSENT = {"target": "no translation", "source": "no source"}


@dataclass
class Segment:
    """A source and its translation.

    notes   the name of a column (`note`, `note:AUTHOR`, `prop:TYPE`) -> what people or tools wrote there
    place   where a note about the segment goes; None if the file has no place for one
    note    the text of a note -> the note as it is written
    """

    id: str
    source: str
    target: str
    notes: Mapping[str, str] = field(default_factory=dict)
    place: Place | None = None
    note: Callable[[str], str] = str

    @property
    def row(self) -> FileRow:
        texts = {"target": self.target, "source": self.source}
        reasons = {name: _ABSENT[name] for name, text in texts.items() if not text}
        return FileRow({"id": self.id, "source": self.source, "target": self.target, **self.notes}, reasons)


def outside_of(unit: str, element: Element, location: object) -> InputError:
    """The error of a text that is in no unit: it would be no segment, and be lost."""
    return InputError(
        f"<{element.name}> lies outside of any <{unit}>, so that it would be lost",
        location=location,
        remedy=f"let it lie in a <{unit}>",
    )


@dataclass(frozen=True)
class Declared:
    """Language tags of a side as a file gives them; `where` they stand."""

    side: str
    tag: str
    location: str


@dataclass(frozen=True)
class Languages:
    """The languages that are wanted (BCP 47); `known_as` are a file's own tags of them."""

    source: str
    target: str
    known_as: Mapping[str, str] = field(default_factory=dict)

    def wanted(self, side: str) -> str:
        return self.source if side == "source" else self.target

    def fit(self, tag: str, side: str) -> bool:
        """Whether a tag of a file is of the language of a side."""
        own = self.known_as.get(side)
        return tag.lower() == own.lower() if own else speaks(tag, self.wanted(side))

    def check(self, declared: Iterable[Declared], location: object) -> None:
        """Raises InputError if a file, or a part of it, declares another language or none."""
        for each in dict.fromkeys(declared):
            if each.tag and not self.fit(each.tag, each.side):
                raise self._other(each, location)

    def _other(self, each: Declared, location: object) -> InputError:
        side, tag, wanted = each.side, quoted(each.tag), self.wanted(each.side)
        if is_language_tag(each.tag):
            what = f"{each.location}: the {side} is in {tag}, not in '{wanted}'"
            return InputError(
                what, location=location, remedy="take a model, or name the languages, of this file"
            )
        return InputError(
            f"{each.location}: the language {tag} of the {side} is not known",
            location=location,
            remedy=f"if it is '{wanted}', say --languages {side}={each.tag}",
        )


@dataclass(frozen=True)
class TranslationFile:
    """A file as it was read.

    left      edits that take away the notes of an earlier scoring
    declared  what it says of its languages
    """

    document: Document
    segments: Sequence[Segment]
    left: Sequence[Edit]
    declared: Sequence[Declared]

    @cached_property
    def rows(self) -> Sequence[FileRow]:
        """The segments as rows of a table."""
        return [segment.row for segment in self.segments]

    @cached_property
    def header(self) -> list[str]:
        """The columns of the rows."""
        return list(
            dict.fromkeys(["id", "source", "target", *(name for row in self.rows for name in row.texts)])
        )

    def with_notes(self, notes: Sequence[str | None]) -> bytes:
        """The file with the new notes in place of earlier ones.

        A segment gets its note if the file has a place for it.
        """
        placed = [
            (segment.place, segment.note(text))
            for segment, text in zip(self.segments, notes, strict=True)
            if text is not None and segment.place is not None
        ]
        return self.document.edited([*self.left, *edits_of(placed)])


def notes_in(
    elements: Iterable[Element], by: str, segment: str = "", others: Iterable[str] = ()
) -> dict[str, str]:
    """Notes as columns: `note`, or `note:AUTHOR` by the attribute that names the author or kind.

    segment  the one that is asked for, where notes are those of several: what begins with the id of one of
             the `others` is left out

    Several of one name are lines of one text; a score as `qe score` writes it is the number alone.
    """
    columns: dict[str, list[str]] = {}
    for element in elements:
        text = "".join(child for child in element.children if isinstance(child, str)).strip()
        if segment and text.startswith(tuple(f"{other}: " for other in others if other != segment)):
            continue
        author = element.attributes.get(by, "")
        name = f"{element.name}:{author}" if author else element.name
        columns.setdefault(name, []).append(_value(text.removeprefix(f"{segment}: ")))
    return {name: "\n".join(texts) for name, texts in columns.items()}


def _value(text: str) -> str:
    name, _, rest = text.partition(";")[0].partition(" ")
    return rest.strip() if name.rstrip(":") == "score" else text
