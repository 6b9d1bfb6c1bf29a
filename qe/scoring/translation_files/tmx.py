"""TMX: a property for every translation unit that has the two languages of the model."""

from functools import partial
from pathlib import Path
from xml.sax.saxutils import escape

from features.basics.errors import InputError
from qe.scoring.translation_files._xml import MARK, Content, Edit, Element, Reader, Unit, read

_CODES = ("bpt", "ept", "ph", "it", "sub", "ut")


def segments(path: Path, source: str, target: str) -> tuple[Content, Reader]:
    """The file, its units with the texts of both languages, and where their properties belong.

    source, target  codes; `en` is `en-GB`, too

    Raises InputError for a file that is no TMX.
    """
    content = read(path)
    reader = Reader(path, content, _opened, _closed, _text)
    reader.state = {"sides": {source: "source", target: "target"}, "side": "", "units": 0, "is": False}
    reader.parse()
    if not reader.state["is"]:
        raise InputError("is no TMX file (no element `tmx`)", where=path)
    return content, reader


def _opened(reader: Reader, element: Element) -> None:
    state = reader.state
    if element.name == "tmx":
        state["is"] = True
    elif element.name == "tu":
        state["units"] += 1
        reader.units.append(Unit(element.attributes.get("tuid") or str(state["units"])))
    elif element.name == "tuv":
        state["side"] = state["sides"].get(element.attributes.get("lang", "").lower().partition("-")[0], "")
    elif element.name == "seg" and state["side"] == "target":
        reader.units[-1].write = partial(_property, element.start, element.prefix)


def _closed(reader: Reader, element: Element) -> None:
    if element.name == "prop" and element.attributes.get("type") == f"x-{MARK}":
        end = reader.content.after_tag(reader.state["end"])
        reader.edits.append(Edit(element.start, end, ""))


def _property(place: int, prefix: str, text: str) -> Edit:
    return Edit(place, place, f'<{prefix}prop type="x-{MARK}">{escape(text)}</{prefix}prop>')


def _text(reader: Reader, data: str) -> None:
    side = reader.state["side"]
    if side and reader.inside("seg") and not any(element.name in _CODES for element in reader.open):
        unit = reader.units[-1]
        setattr(unit, side, getattr(unit, side) + data)
