"""SGM files of the WMT tasks: the text of each `<seg>`, and its document."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from features.basics.errors import InputError
from features.storage.files import read_lines

_TAG = re.compile(r"<(?P<close>/?)(?P<name>doc|seg|srcset|refset|tstset)\b(?P<rest>[^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


@dataclass(frozen=True)
class Segment:
    text: str
    document: str
    line: int


def is_sgm(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".sgm", ".sgml"))


def lines_of(path: Path) -> Iterator[str]:
    return (segment.text for segment in segments(path)) if is_sgm(path) else read_lines(path)


def segments(path: Path) -> Sequence[Segment]:
    """The segments of an SGM file in order; line ends inside a segment are blanks.

    Raises InputError for a file that has none, a segment that is not closed, several systems in one file.
    """
    text = "\n".join(read_lines(path))
    found: list[Segment] = []
    systems: dict[str, None] = {}
    document, begin = "", None
    for tag in _TAG.finditer(text):
        name, closes = tag["name"].lower(), bool(tag["close"])
        attributes = {key.lower(): one or other for key, one, other in _ATTRIBUTE.findall(tag["rest"])}
        if "sysid" in attributes:
            systems[attributes["sysid"]] = None
        if name == "doc":
            document = "" if closes else attributes.get("docid", attributes.get("id", ""))
        elif name == "seg" and closes == (begin is None):
            raise _wrong("is not opened" if closes else "is not closed", text, begin or tag, path)
        elif name == "seg" and not closes:
            begin = tag
        elif name == "seg" and begin is not None:
            inside = " ".join(text[begin.end() : tag.start()].split("\n")).strip()
            found.append(Segment(_ENTITY.sub(_character, inside), document, _line(text, begin)))
            begin = None
    if begin is not None:
        raise _wrong("is not closed", text, begin, path)
    if not found:
        raise InputError(
            "holds no <seg>", location=path, remedy="give an SGM file, or text with another ending"
        )
    if len(systems) > 1:
        raise InputError(
            f"holds {len(systems)} systems ({', '.join(systems)})",
            location=path,
            remedy="give one file for each",
        )
    return found


def _character(entity: re.Match[str]) -> str:
    name = entity[1]
    if not name.startswith("#"):
        return _CHARACTERS[name]
    number = int(name[2:], 16) if name[1] == "x" else int(name[1:])
    return chr(number) if 31 < number < 0x110000 and not 0xD800 <= number < 0xE000 else entity[0]


def _line(text: str, tag: re.Match[str]) -> int:
    return text.count("\n", 0, tag.start()) + 1


def _wrong(problem: str, text: str, tag: re.Match[str], path: Path) -> InputError:
    return InputError(f"a <seg> {problem}", location=f"{path}:{_line(text, tag)}", remedy="fix the file")
