"""XLIFF 2.0 to 2.2: what a unit holds."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, count

from qe.data.translation_files._inline import plain
from qe.data.translation_files._xml import Edit, Element, Place, written
from qe.data.translation_files.segments import MARK, Segment, notes_in

UNIT = "unit"
AROUND = ("xliff", "file", "group")  # what a unit may lie in
LANGUAGES = {"source": "srcLang", "target": "trgLang"}  # of the document
TEXTS = {"source": "source", "target": "target"}  # their side


def segments(unit: Element, name: str, codes: Mapping[str, str]) -> tuple[list[Segment], list[Edit]]:
    """The segments of a unit, and edits that remove notes of an earlier scoring.

    name   of the unit
    codes  not used: what stands for a placeholder is in the unit itself
    """
    parts = _named(list(unit.own("segment")))
    codes, place = _original_data(unit), _place(unit)
    holder = unit.first("notes")
    notes = [] if holder is None else list(holder.own("note"))
    made = []
    for number, part in parts.items():
        label = number if len(parts) > 1 else ""
        source, target = (plain(side, codes) if (side := part.first(of)) else "" for of in TEXTS)
        columns = notes_in(notes, "category", label, parts)
        made.append(
            Segment(
                f"{name}/{number}",
                source,
                target,
                columns,
                place,
                partial(written, unit.prefix, "note", ("category", MARK), label),
            )
        )
    return made, _earlier(holder)


def _named(parts: Sequence[Element]) -> dict[str, Element]:
    own = [part.attributes.get("id", "") for part in parts]
    named: dict[str, Element] = {}
    for number, (part, name) in enumerate(zip(parts, own, strict=True), start=1):
        numbers = (str(n) for n in chain([number], count(len(parts) + 1)))
        free = name and name not in named
        named[name if free else next(n for n in numbers if n not in named and n not in own)] = part
    return named


def _original_data(unit: Element) -> dict[str, str]:
    holder = unit.first("originalData")
    return {
        data.attributes.get("id", ""): "".join(child for child in data.children if isinstance(child, str))
        for data in (holder.own("data") if holder else ())
    }


def _is_ours(note: Element) -> bool:
    return note.attributes.get("category") == MARK


def _earlier(holder: Element | None) -> list[Edit]:
    if holder is None:
        return []
    if all(map(_is_ours, holder.own())):
        return [Edit(holder.start, holder.end, "")]
    return [Edit(note.start, note.end, "") for note in holder.own("note") if _is_ours(note)]


def _place(unit: Element) -> Place | None:
    holder = unit.first("notes")
    if holder is not None and not all(map(_is_ours, holder.own())):
        return Place(holder.inner_end, holder.inner_end)
    first = next(unit.own(), None)
    frame = (f"<{unit.prefix}notes>", f"</{unit.prefix}notes>")
    return None if first is None else Place(first.start, first.start, frame)
