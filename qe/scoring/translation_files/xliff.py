"""XLIFF 1.2 and 2: a note for every segment that has a translation."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from xml.sax.saxutils import escape

from features.basics.errors import InputError
from qe.scoring.translation_files._xml import MARK, Content, Edit, Element, Reader, Unit, read

# Content that is no text but the code of another format (XLIFF 1.2), and what belongs to a suggestion.
_CODES = ("bpt", "ept", "ph", "it", "sub")
_APART = ("alt-trans", "seg-source", "notes", "note", "matches", "glossary", "metadata", "originalData")
_BEFORE_NOTES = ("originalData", "segment", "ignorable")  # in a unit of XLIFF 2 they stand behind its notes


def segments(path: Path) -> tuple[Content, Reader]:
    """The file, its segments with their texts, and where their notes belong.

    Raises InputError for a file that is no XLIFF 1.2, 2.0 or 2.1.
    """
    content = read(path)
    reader = Reader(path, content, _opened, _closed, _text)
    reader.state = {"version": "", "languages": ("", ""), "units": 0, "notes": None, "waiting": []}
    reader.parse()
    if not reader.state["version"]:
        raise InputError("is no XLIFF file (no element `xliff`)", where=path)
    return content, reader


def _opened(reader: Reader, element: Element) -> None:
    state, name = reader.state, element.name
    if name == "xliff":
        state["version"] = _version(reader, element)
        state["languages"] = _languages(element.attributes, "srcLang", "trgLang")
    elif name == "file" and state["version"] == "1":
        state["languages"] = _languages(element.attributes, "source-language", "target-language")
    elif name == "trans-unit" or name == "unit":
        state["units"] += 1
        state["unit"] = element.attributes.get("id") or str(state["units"])
        state |= {"notes": None, "waiting": [], "segments": 0}
        if name == "trans-unit":
            reader.units.append(Unit(state["unit"]))
    elif name == "segment":
        state["segments"] += 1
        segment = element.attributes.get("id") or str(state["segments"])
        unit = Unit(f"{state['unit']}/{segment}")
        reader.units.append(unit)
        state["waiting"].append((segment, unit))
    if reader.inside("unit") and name in _BEFORE_NOTES and state["notes"] is None:
        state["notes"] = (element.start, element.prefix, True)


def _closed(reader: Reader, element: Element) -> None:
    state, end = reader.state, reader.state["end"]
    if element.name == "note" and MARK in (
        element.attributes.get("from"),
        element.attributes.get("category"),
    ):
        reader.edits.append(Edit(element.start, reader.content.after_tag(end), ""))
    elif element.name == "notes" and reader.inside("unit"):
        state["notes"] = (end, element.prefix, False)
    elif element.name == "target" and not _apart(reader) and reader.inside("trans-unit"):
        place = reader.content.after_tag(end)
        reader.units[-1].write = partial(_note, place, element.prefix)
    elif element.name == "unit":
        for number, (segment, unit) in enumerate(state["waiting"]):
            unit.write = partial(_note_of_unit, state["notes"], segment, number, len(state["waiting"]))


def _note(place: int, prefix: str, text: str) -> Edit:
    return Edit(place, place, f'<{prefix}note from="{MARK}">{escape(text)}</{prefix}note>')


def _note_of_unit(notes: tuple[int, str, bool], segment: str, number: int, of: int, text: str) -> Edit:
    """In XLIFF 2 notes are those of a unit: each names its segment. New ones are wrapped in `notes`."""
    place, prefix, wrapped = notes
    label = f"{segment}: " if of > 1 else ""
    note = f'<{prefix}note category="{MARK}">{escape(label + text)}</{prefix}note>'
    if wrapped:
        note = (
            (f"<{prefix}notes>" if number == 0 else "")
            + note
            + (f"</{prefix}notes>" if number == of - 1 else "")
        )
    return Edit(place, place, note)


def _text(reader: Reader, data: str) -> None:
    if not reader.units or _apart(reader):
        return
    if any(element.name in _CODES for element in reader.open):
        return
    if reader.inside("ignorable"):
        return
    for name in ("source", "target"):
        if reader.inside(name):
            setattr(reader.units[-1], name, getattr(reader.units[-1], name) + data)


def _apart(reader: Reader) -> bool:
    return any(element.name in _APART for element in reader.open)


def _version(reader: Reader, element: Element) -> str:
    version = element.attributes.get("version", "")
    if version in ("1.0", "1.1", "1.2"):
        return "1"
    if version in ("2.0", "2.1", "2.2"):
        return "2"
    raise InputError(
        f"XLIFF of version '{version}' is not known", where=reader.path, remedy="known: 1.2, 2.0, 2.1"
    )


def _languages(attributes: Mapping[str, str], source: str, target: str) -> tuple[str, str]:
    return attributes.get(source, ""), attributes.get(target, "")
