"""XLIFF 1.0 to 1.2: what a trans-unit holds."""

from collections.abc import Mapping
from functools import partial

from qe.data.translation_files._inline import plain, segments_of
from qe.data.translation_files._xml import Edit, Element, Place, written
from qe.data.translation_files.segments import MARK, Segment, notes_in

UNIT = "trans-unit"
AROUND = ("xliff", "file", "body", "group", "bin-unit")  # what a unit may lie in
LANGUAGES = {"source": "source-language", "target": "target-language"}  # of a file
TEXTS = {"source": "source", "seg-source": "source", "target": "target"}  # their side


def segments(unit: Element, name: str, codes: Mapping[str, str]) -> tuple[list[Segment], list[Edit]]:
    """The segments of a unit, and edits that remove notes of an earlier scoring.

    name   of the unit
    codes  what stands for placeholders by their id, in files of Trados

    Segments are the marks `seg` of the target, and the marks of `seg-source` that it lacks; of a translation
    without marks, the unit itself.
    """
    target = unit.first("target")
    whole = _text(unit, "source", codes), _text(unit, "target", codes)
    texts = _marked(unit, codes)
    if not texts or (target is not None and not segments_of(target) and whole[1]):
        texts = {"": whole}
    place = None if target is None else Place(target.end, target.end)
    made = []
    for mid, sides in texts.items():
        label = mid if len(texts) > 1 else ""
        notes = notes_in(unit.own("note"), "from", label, texts)
        made.append(
            Segment(
                f"{name}/{mid}" if mid else name,
                *sides,
                notes,
                place,
                partial(written, unit.prefix, "note", ("from", MARK), label),
            )
        )
    return made, [
        Edit(note.start, note.end, "") for note in unit.own("note") if note.attributes.get("from") == MARK
    ]


def _text(unit: Element, name: str, codes: Mapping[str, str]) -> str:
    element = unit.first(name)
    return "" if element is None else plain(element, codes)


def _marked(unit: Element, codes: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    sources, targets = (_marks(unit.first(name), codes) for name in ("seg-source", "target"))
    if len(targets) == 1 and not sources:
        sources = dict.fromkeys(targets, _text(unit, "source", codes))
    return {mid: (sources.get(mid, ""), targets.get(mid, "")) for mid in {**sources, **targets}}


def _marks(element: Element | None, codes: Mapping[str, str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for number, mark in enumerate([] if element is None else segments_of(element), start=1):
        mid = mark.attributes.get("mid") or str(number)
        texts[mid] = " ".join(filter(None, (texts.get(mid), plain(mark, codes))))
    return texts
