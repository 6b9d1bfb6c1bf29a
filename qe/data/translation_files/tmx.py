"""TMX: a segment for every variant of the target's language."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from features.basics.errors import InputError
from qe.data.translation_files._xml import Document, Edit, Element, Place, Walk, note_element, plain
from qe.data.translation_files.segments import MARK, Languages, Segment, TranslationFile, notes_in, outside_of

_TYPE = f"x-{MARK}"


def read(path: Path, languages: Languages) -> TranslationFile:
    reader = _Reader(Document.read(path), languages=languages)
    reader.run()
    if not reader.units:
        raise InputError("holds no translation unit (<tu>)", location=path)
    for side in ("source", "target"):
        if not any(languages.fit(tag, side) for tag in reader.tags):
            seen = ", ".join(f"'{tag}'" for tag in sorted(reader.tags)) or "none"
            raise InputError(
                f"has no {side} in '{languages.wanted(side)}'; its languages: {seen}",
                location=path,
                remedy=f"take a model of its languages, or name the one meant: --languages {side}=TAG",
            )
    return TranslationFile(reader.document, reader.segments, reader.edits)


@dataclass
class _Reader(Walk):
    languages: Languages = field(kw_only=True)
    source: str = ""  # language tag of the header
    units: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    segments: list[Segment] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def opened(self, element: Element, around: Sequence[Element]) -> None:
        if not around and element.name != "tmx":
            raise InputError("is no TMX file (no element `tmx`)", location=self.document.path)
        if element.name == "header" and len(around) == 1:
            self.source = element.attributes.get("srclang", "")
        plain_place = all(
            outer.namespace == element.namespace and outer.name in ("tmx", "body") for outer in around
        )
        if around and element.name in ("tu", "tuv", "seg") and plain_place:
            raise outside_of("body" if element.name == "tu" else "tu", element, self.document.path)

    def is_unit(self, element: Element, around: Sequence[Element]) -> bool:
        return (
            element.name == "tu"
            and [outer.name for outer in around] == ["tmx", "body"]
            and all(outer.namespace == element.namespace for outer in around)
        )

    def closed(self, unit: Element, around: Sequence[Element]) -> None:
        self.units += 1
        name = unit.attributes.get("tuid") or str(self.units)
        variants = list(unit.members("tuv"))
        self.tags.update(map(_tag, variants))
        named = unit.attributes.get("srclang", self.source).lower()
        fitting = [variant for variant in variants if self.languages.fit(_tag(variant), "source")]
        exact = [variant for variant in fitting if _tag(variant).lower() == named]
        source = next(iter(exact or fitting), None)
        others = (variant for variant in variants if variant is not source)
        targets = [variant for variant in others if self.languages.fit(_tag(variant), "target")]
        props = (prop for variant in variants for prop in variant.members("prop"))
        scored = [prop for prop in props if prop.attributes.get("type") == _TYPE]
        self.edits += [Edit(prop.start, prop.end, "") for prop in scored]
        if not targets:
            self.segments.append(_segment(name, unit, source, None))
        numbers: Counter[str] = Counter()
        for variant in targets:
            tag = _tag(variant)
            numbers[tag] += 1
            label = f"{name}/{tag}" if numbers[tag] == 1 else f"{name}/{tag}/{numbers[tag]}"
            self.segments.append(_segment(name if len(targets) == 1 else label, unit, source, variant))


def _tag(variant: Element) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _segment(name: str, unit: Element, source: Element | None, target: Element | None) -> Segment:
    texts = _text(source), _text(target)
    holders = [holder for holder in (unit, target) if holder is not None]
    notes = {
        key: value
        for holder in holders
        for kind, attribute in (("note", "from"), ("prop", "type"))
        for key, value in notes_in(holder.members(kind), attribute).items()
    }
    seg = None if target is None else target.first("seg")
    if target is None or seg is None:
        return Segment(name, *texts, notes)
    note = partial(note_element, target.prefix, "prop", ("type", _TYPE), "")
    return Segment(name, *texts, notes, Place(seg.start, seg.start), note)


def _text(variant: Element | None) -> str:
    seg = None if variant is None else variant.first("seg")
    return "" if seg is None else plain(seg)
