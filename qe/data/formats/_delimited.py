"""Delimited text (TSV, CSV), quoted or not: strict, with the line of every row."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from features.basics.errors import InputError

Row = tuple[int, list[str]]  # the line it starts at, its fields

_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"')
_LOOK_AT = 2000  # rows that decide whether a file is quoted
_SHARE = 0.9


def delimited_rows(text: str, path: Path, delimiter: str, quoting: bool) -> Iterator[Row]:
    """The rows of `text` (LF line ends, LF after the last line), the header first.

    Unquoted, a double quote is an ordinary character and every line is a row. Quoted, as in RFC 4180: a
    field with quotes, delimiters or line breaks stands between double quotes, quotes inside are doubled.

    Raises InputError, with file and line, where a row has another number of fields than the header, and
    where the text is evidently written the other way.
    """
    if not quoting:
        _refuse_quoted(text, path, delimiter)
    parsed = _quoted_rows(text, path, delimiter) if quoting else _unquoted_rows(text, delimiter)
    width = None
    for line, fields in parsed:
        width = width or len(fields)
        if len(fields) != width:
            hint = "quoting" if any('"' in field for field in fields) else ""
            raise InputError(
                f"expected {width} fields as in the header, found {len(fields)}",
                where=f"{path}:{line}",
                remedy=f"if quotes are {'ordinary text' if quoting else 'CSV quotes'} here, set "
                f"`quoting: {'false' if quoting else 'true'}`"
                if hint
                else "",
            )
        yield line, fields


def _unquoted_rows(text: str, delimiter: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        yield number, line.split(delimiter)


def _refuse_quoted(text: str, path: Path, delimiter: str) -> None:
    """Raises InputError if almost all fields with quotes are CSV-quoted, and some can be nothing else.

    A field can be nothing else when it holds doubled quotes between its outer ones, or is in the header.
    """
    with_quotes = quoted = sure = 0  # sure: the first line that tells
    for number, fields in islice(_unquoted_rows(text, delimiter), _LOOK_AT):
        for field in fields:
            if '"' in field:
                with_quotes += 1
                if len(field) > 1 and _QUOTED.fullmatch(field):
                    quoted += 1
                    sure = sure or number * (number == 1 or '""' in field[1:-1])
    if sure and quoted >= _SHARE * with_quotes:
        raise InputError(
            f"read as unquoted, but {quoted} of {with_quotes} fields with double quotes are CSV-quoted",
            where=f"{path}:{sure}",
            remedy="set `quoting: true`",
        )


def _quoted_rows(text: str, path: Path, delimiter: str) -> Iterator[Row]:
    other = re.escape(delimiter)
    cell = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"\n{other}]*+))({other}|\n)')
    position, line, width = 0, 1, 0
    while position < len(text):
        start, first_line = position, line
        fields: list[str] = []
        while True:
            match = cell.match(text, position)
            if match is None:
                raise _bare_quote(text, position, path, line)
            quoted, plain, end = match.groups()
            fields.append(plain if quoted is None else quoted.replace('""', '"'))
            line += match[0].count("\n") if quoted is not None else end == "\n"
            position = match.end()
            if end == "\n":
                break
        if line - first_line > 1:
            _refuse_merged(text[start : position - 1], path, first_line, delimiter, width)
        width = width or len(fields)
        yield first_line, fields


def _bare_quote(text: str, position: int, path: Path, line: int) -> InputError:
    """The error for a quote inside an unquoted field, text after a closing quote, or no closing quote."""
    excerpt = text[position : text.find("\n", position)][:40]
    what = "a quoted field is not closed, or text follows its closing quote" if excerpt[:1] == '"' else ""
    return InputError(
        f"not CSV quoting: {what or 'a double quote inside an unquoted field'} ({excerpt})",
        where=f"{path}:{line}",
        remedy="if quotes are ordinary text here, set `quoting: false`",
    )


def _refuse_merged(record: str, path: Path, line: int, delimiter: str, width: int) -> None:
    """Raises InputError if each line of a row that spans several looks like a row of its own."""
    counts: Sequence[int] = [part.count(delimiter) + 1 for part in record.split("\n")]
    if width > 1 and all(count == width for count in counts):
        raise InputError(
            f"quotes would merge {len(counts)} lines of {width} fields into one row",
            where=f"{path}:{line}",
            remedy="quotes seem to be ordinary text here: set `quoting: false`",
        )
