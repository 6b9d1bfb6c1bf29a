"""TSV, CSV and SGM files; delimiter, quotes and encoding are detected or set by the user."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from features.basics.errors import InputError, quoted, unknown_name
from features.storage.files import (
    DAMAGED_GZIP,
    MAX_LINE,
    check_line_ends,
    damage_of,
    long_line,
    open_binary,
    read_lines,
)

Record = tuple[int, list[str]]  # the line it starts at, its fields

DELIMITERS: Mapping[str, str] = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_DEFAULTS = {"tsv": ("\t", False), "csv": (",", True)}
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?', re.IGNORECASE)  # what Excel reads, and writes nowhere
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"')
_RETURN = "\udc0d"  # for a carriage return, at which the module csv ends a record; no text holds it
_TEXT_FOLLOWS = "text follows the closing quote of a field"
# Words of errors of the module csv -> ours.
_PROBLEMS = {"end of data": "a quoted field is not closed", "limit": "a quoted field is longer than 16 MiB"}
_SAMPLE = 1 << 18  # bytes that are looked at
_STEP = 1 << 12
_LOOK_AT = 2000  # rows of them
_SHARE = 0.9  # of rows that a way of reading must suit
# At most this share of the letters of a text in cp1252 is foreign: other languages have other code pages.
_MOST_FOREIGN = 0.3


KINDS = ("tsv", "csv", "jsonl", "parquet", "xlsx", "xliff", "tmx")
TABLE_SETTINGS = ("delimiter", "quoting", "encoding", "escape", "decimal", "sheet", "header_row")


@dataclass(frozen=True)
class Layout:
    """How a file holds a table; settings that are None are detected in the file or by its name.

    quoting, escape    of TSV and CSV: quotes delimit fields; what is before quotes that are text
    sheet, header_row  of XLSX: name or number of the sheet, row that names the columns
    languages          of source and target: XLIFF and TMX must have them, and rows of a table with a column
                       of language pairs that are of another pair are left out
    tags               of XLIFF and TMX: side -> the file's tag of its language
    locked             of XLIFF: `skip` gives locked segments a reason, `score` a score
    """

    kind: str | None = None
    delimiter: str | None = None
    quoting: bool | None = None
    encoding: str | None = None
    escape: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    header_row: int = 1
    languages: tuple[str, str] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    locked: str = "skip"

    @property
    def settings(self) -> dict[str, Any]:
        """What differs from the defaults, as keys of the format `table`."""
        return {
            name: getattr(self, name)
            for name in ("kind", *TABLE_SETTINGS)
            if getattr(self, name) != getattr(Layout, name)
        }

    def check(self) -> None:
        choices = (
            ("kind of table", self.kind, KINDS, None),
            ("choice", self.locked, ("skip", "score"), "--locked"),
            *(("side", side, ("source", "target"), "--languages") for side in self.tags),
        )
        for noun, name, known, location in choices:
            if name is not None and name not in known:
                raise unknown_name(noun, name, known, location=location)
        if self.decimal not in (None, ".", ","):
            raise InputError(f"{self.decimal!r} is no decimal sign", remedy="a point or a comma")
        sign = self.character
        if sign is not None and (len(sign) != 1 or sign in '"\r\n' or sign.isalnum()):
            raise InputError(
                f"{self.delimiter!r} is no delimiter", remedy=f"one character, or {', '.join(DELIMITERS)}"
            )
        if self.escape is not None and (len(self.escape) != 1 or self.escape in '"\r\n\t ,;'):
            remedy = "one character, such as a backslash"
            raise InputError(f"{self.escape!r} escapes no quotes", location="--escape", remedy=remedy)
        if self.escape is not None and self.quoting is False:
            raise InputError("--escape is for quoted fields", remedy="leave out --no-quoting")
        if self.encoding is not None:
            check_encoding(self.encoding)

    @property
    def character(self) -> str | None:
        return DELIMITERS.get(self.delimiter or "", self.delimiter)


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is written; `before` counts the lines before the header."""

    kind: str
    delimiter: str
    quoting: bool
    encoding: str = "utf-8"
    preamble: int = 0
    escape: str = ""

    @property
    def differences(self) -> str:
        """Differences from the usual form of its kind, in words; empty if there are none."""
        delimiter, quoting = _DEFAULTS[self.kind]
        names = {character: name for name, character in DELIMITERS.items()}
        parts = [f"delimiter {names.get(self.delimiter, self.delimiter)}"] * (self.delimiter != delimiter)
        parts += [f"quotes escaped by {self.escape}"] * bool(self.escape)
        parts += [("quoted fields" if self.quoting else "quotes as text")] * (self.quoting != quoting)
        return ", ".join(parts + [self.encoding] * (self.encoding != "utf-8"))

    def records(self, lines: Iterable[str], path: Path) -> Iterator[Record]:
        """The rows of the lines of a file (without line ends), the header first.

        Unquoted, a double quote is text and every line is a row; quoted, as in RFC 4180. Empty fields behind
        the last name of the header are dropped: spreadsheets write them for columns that were once in use.

        Raises InputError, with file and line, for quotes that are no CSV.
        """
        numbered: Iterator[tuple[int, str]] = islice(enumerate(lines, start=1), self.preamble, None)
        if self.escape:  # RFC 4180 doubles the quotes that other programs escape
            escape = re.compile(rf'{re.escape(self.escape)}(["{re.escape(self.escape)}])')
            numbered = (
                (number, escape.sub(lambda match: '""' if match[1] == '"' else match[1], line))
                for number, line in numbered
            )
        records: Iterator[Record]
        if self.quoting:
            records = _quoted_records(numbered, self.delimiter, path)
        else:
            records = ((number, line.split(self.delimiter)) for number, line in numbered)
        width = 0  # of the header
        for number, fields in records:
            if not width:
                named = (place for place, name in enumerate(fields, start=1) if name.strip())
                width = max(named, default=len(fields))
            yield number, fields if any(fields[width:]) else fields[:width]

    def remedy(self, fields: Sequence[str]) -> str:
        if any('\\"' in field for field in fields):
            return "if backslashes escape quotes here, set `escape: '\\'` (--escape '\\')"
        if any('"' in field for field in fields):
            return f"if quotes are to be read otherwise here, set `quoting: {str(not self.quoting).lower()}`"
        return ""


class _NotClosed(InputError):
    pass


def _quoted_records(numbered: Iterator[tuple[int, str]], delimiter: str, path: Path) -> Iterator[Record]:
    width = 0  # of the header
    csv.field_size_limit(MAX_LINE)
    for number, line in numbered:
        fields, spanned = line.split(delimiter), [line]
        if '"' in line:
            reader = csv.reader(_following(spanned, numbered), delimiter=delimiter, strict=True)
            try:
                fields = [field.replace(_RETURN, "\r") for field in next(reader)]
            except csv.Error as error:
                problem = next((text for key, text in _PROBLEMS.items() if key in str(error)), _TEXT_FOLLOWS)
                raise _no_csv(problem, f"{path}:{number}", "\n".join(spanned)) from None
            several = len(spanned) > 1 and width > 1
            if several and all(_field_count(each, delimiter) == width for each in spanned):
                problem = f"quotes would merge {len(spanned)} lines into one row"
                raise _no_csv(problem, f"{path}:{number}", line)
        width = width or len(fields)
        yield number, fields


def _following(spanned: list[str], numbered: Iterator[tuple[int, str]]) -> Iterator[str]:
    yield spanned[0].replace("\r", _RETURN) + "\n"
    for _, line in numbered:
        spanned.append(line)
        yield line.replace("\r", _RETURN) + "\n"


def _field_count(line: str, delimiter: str) -> int:
    number, place = 1, 0
    while place < len(line):
        closed = _QUOTED.match(line, place)
        end = closed.end() if closed and line[closed.end() :][:1] in ("", delimiter) else place
        place = (line.find(delimiter, end) + 1) or len(line) + 1
        number += place <= len(line)
    return number


def _no_csv(problem: str, location: str, text: str) -> InputError:
    remedy = "if double quotes are ordinary text here, set `quoting: false` (--no-quoting)"
    if '\\"' in text:
        remedy = "if backslashes escape quotes here, set `escape: '\\'` (--escape '\\')"
    kind = _NotClosed if problem == _PROBLEMS["end of data"] else InputError
    return kind(f"not valid CSV: {problem} ({quoted(text, 60)})", location=location, remedy=remedy)


def text_lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Lines of a file in any encoding, as `read_lines` reads them; raises the same errors."""
    if encoding == "utf-8":
        yield from read_lines(path)
        return
    number = 0
    with open_binary(path) as raw:
        stream = io.TextIOWrapper(raw, encoding, newline="\n")
        try:
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE + 1), ""), start=1):
                if len(line) > MAX_LINE:
                    raise long_line(path, number)
                if number == 1:
                    check_line_ends(line.encode("utf-8", "replace"), path)
                text = line.removesuffix("\n").removesuffix("\r")
                yield text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeError as error:
            reason = str(error)
            if isinstance(error, UnicodeDecodeError):  # the stream decodes lines before they are read
                reason = error.reason
                number += error.object[: error.start].decode(encoding, "replace").count("\n")
            raise InputError(
                f"not {encoding} ({reason})",
                location=f"{path}:{number + 1}",
                remedy="name its encoding (--encoding), or convert the file, for example with iconv -t UTF-8",
            ) from None
        except DAMAGED_GZIP as error:
            raise InputError(damage_of(error), location=f"{path}:{number + 1}") from None


def check_encoding(name: str) -> None:
    try:
        "a\tb".encode(name).decode(name)
        b"\xff\xfe\x00".decode(name, "replace")  # idna replaces nothing
    except (LookupError, UnicodeError, TypeError, ValueError):
        raise InputError(
            f"'{name}' is no encoding of text", location="--encoding", remedy="such as cp1252"
        ) from None


def dialect_of(path: Path, kind: str, wanted: Layout | None = None) -> Dialect:
    sample = b""
    try:
        with open_binary(path) as stream:
            while len(sample) <= _SAMPLE and (part := stream.read(_STEP)):
                sample += part
    except DAMAGED_GZIP as error:
        if not sample:
            raise InputError(damage_of(error), location=f"{path}:1") from None
    return detect_dialect(sample[: _SAMPLE + 1], kind, wanted or Layout())


def detect_dialect(sample: bytes, kind: str, wanted: Layout) -> Dialect:
    wanted.check()
    complete = len(sample) <= _SAMPLE
    encoding = wanted.encoding or _encoding(sample if complete else sample[: _SAMPLE - 3])
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    lines = lines if complete and lines[-1] else lines[:-1]
    separator = _SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    preamble = 0 if separator is None else 1
    delimiter = wanted.character or (separator[1] if separator else None)
    sample_rows = _Sample(lines[preamble:], _DEFAULTS[kind][1], wanted.escape or "")
    chosen = sample_rows.best(_DEFAULTS[kind], delimiter, True if wanted.escape else wanted.quoting)
    return Dialect(kind, *chosen, encoding, preamble, wanted.escape or "")


def _encoding(sample: bytes) -> str:
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for name, zeros, others in (
        ("utf-16-le", sample[1:200:2], sample[0:200:2]),
        ("utf-16-be", sample[0:200:2], sample[1:200:2]),
    ):
        if 2 * zeros.count(0) > len(zeros) and not others.count(0):
            return name
    text = sample.decode("utf-8", "surrogateescape")
    wrong = sum("\udc80" <= letter <= "\udcff" for letter in text)
    right = sum(letter > "\x7f" for letter in text) - wrong
    if wrong <= right:
        return "utf-8"
    try:
        letters = [letter for letter in sample.decode("cp1252") if letter.isalpha()]
    except UnicodeDecodeError:
        return "utf-8"
    foreign = sum(letter > "\x7f" for letter in letters)
    return "cp1252" if foreign <= _MOST_FOREIGN * len(letters) else "utf-8"


@dataclass(frozen=True)
class _Sample:
    lines: Sequence[str]
    quotes_delimit: bool
    escape: str = ""

    def best(
        self, default: tuple[str, bool], delimiter: str | None, quoting: bool | None
    ) -> tuple[str, bool]:
        delimiters = [delimiter or default[0]] + ([] if delimiter else list(DELIMITERS.values()))
        quotings = [default[1], not default[1]] if quoting is None else [quoting]
        ways = [(d, q) for d in dict.fromkeys(delimiters) for q in quotings]
        chosen = next((way for way in ways if self._suits(*way)), ways[0])
        if quoting is not None or chosen[1] or self._fits(*chosen):
            return chosen
        return (chosen[0], True) if self._fits(chosen[0], True) else chosen

    def _fits(self, delimiter: str, quoting: bool) -> bool:
        return len({len(row) for row in self._rows(delimiter, quoting)}) == 1

    def _suits(self, delimiter: str, quoting: bool) -> bool:
        quoted_header = self.quotes_delimit and any('"' in line for line in self.lines[:1])
        if not quoting and (quoted_header or self.is_quoted(delimiter)):
            return False
        rows = self._rows(delimiter, quoting)
        if not rows or len(rows[0]) < 2:
            return False
        alike = sum(len(row) == len(rows[0]) for row in rows)
        return alike >= _SHARE * len(rows)

    def _rows(self, delimiter: str, quoting: bool) -> list[list[str]]:
        dialect = Dialect("csv", delimiter, quoting, escape=self.escape)
        rows: list[Record] = []
        try:
            for record in islice(dialect.records(self.lines, Path()), _LOOK_AT):
                rows.append(record)
        except _NotClosed:  # the end of the sample, or of a file that breaks off; or a quote that is text
            if not rows or 2 * rows[-1][0] <= len(self.lines):
                return []
        except InputError:
            return []
        return [fields for _, fields in rows]

    def is_quoted(self, delimiter: str) -> bool:
        with_quotes = quoted = 0
        sure = False
        for number, line in enumerate(self.lines[:_LOOK_AT]):
            for cell in line.split(delimiter):
                if '"' in cell:
                    with_quotes += 1
                    if len(cell) > 1 and _QUOTED.fullmatch(cell):
                        quoted += 1
                        sure = sure or number == 0 or '""' in cell[1:-1]
        return sure and quoted >= _SHARE * with_quotes


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
            line = text.count("\n", 0, begin.start()) + 1
            found.append(Segment(_ENTITY.sub(_character, inside), document, line))
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


def _wrong(problem: str, text: str, tag: re.Match[str], path: Path) -> InputError:
    line = text.count("\n", 0, tag.start()) + 1
    return InputError(f"a <seg> {problem}", location=f"{path}:{line}", remedy="fix the file")
