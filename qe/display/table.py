"""One table for terminal, Markdown, LaTeX, HTML, CSV and JSON: its cells are made once."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

from markupsafe import Markup
from rich.cells import cell_len

from qe.display.numbers import MARKS, SIGNIFICANT, UNDEFINED, NumberText

_NUMBER = re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?")
_AFTER = "_-/\\=:;,|.+&?"
_LONGEST = (
    24  # a word without a place to break it is broken wherever it may be, rather than be wider than that
)


def wrapped(text: str, width: int, whole_words: bool = False) -> list[str]:
    """The lines of a text; its own line ends are kept.

    whole_words  whether a word that is wider than a line stays whole, such as a path

    >>> wrapped("ridge regression [0.125, 0.250]", 10)
    ['ridge', 'regression', '[0.125,', '0.250]']
    >>> wrapped("learning_rate=0.001234", 8)
    ['learning', '_rate=', '0.001234']
    """
    if isinstance(text, NumberText):
        return _filled(list(text.pieces), width, whole_words)
    return [line for own in text.split("\n") for line in _filled(own.split(" "), width, whole_words)]


def narrowest(text: str) -> int:
    words = text.pieces if isinstance(text, NumberText) else text.split()
    return max((_needed(word, isinstance(text, NumberText)) for word in words), default=0)


def natural(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _needed(word: str, unbroken: bool) -> int:
    if unbroken or not word:
        return cell_len(word)
    longest = max(map(cell_len, _parts(word)))
    return longest if longest <= _LONGEST else max(_LONGEST, max(map(cell_len, _pieces(word))))


def _filled(words: list[str], width: int, whole_words: bool) -> list[str]:
    lines = [""]
    for number, word in enumerate(words):
        joined = f"{lines[-1]} {word}" if number else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        first, *others = [word] if whole_words else _folded(word, width)
        lines = [*lines, first] if lines[-1] else [first]
        lines += others
    return lines


def _folded(word: str, width: int) -> list[str]:
    if cell_len(word) <= width:
        return [word]
    lines = [""]
    for part in _parts(word):
        for piece in [part] if cell_len(part) <= width else _pieces(part):
            if lines[-1] and cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    return lines


def _parts(word: str) -> list[str]:
    inside = _inside_numbers(word)
    ends = [i for i in range(1, len(word)) if word[i - 1] in _AFTER and i not in inside]
    return [word[a:b] for a, b in pairwise([0, *ends, len(word)])]


def _pieces(word: str) -> list[str]:
    inside = _inside_numbers(word)
    ends = [i for i in range(len(word) + 1) if i not in inside]
    return [word[a:b] for a, b in pairwise(ends)]


def _inside_numbers(word: str) -> set[int]:
    return {i for found in _NUMBER.finditer(word) for i in range(found.start() + 1, found.end())}


_TEXT = 12  # a column of texts is wrapped no narrower than that, if it has so long ones
_MARKS = tuple(MARKS)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    title  its heading; empty for marks
    key    its name in CSV and JSON; default: the title
    drop   0: it always stays; columns with the highest number go first where a terminal is too narrow
    once   a cell is left empty where it repeats the row above; CSV and JSON keep it
    latex  its heading in LaTeX, if that is no plain text
    about  what its figures are, for people who do not know the title: pages have it below the heading
    """

    title: str
    key: str = ""
    drop: int = 0
    once: bool = False
    latex: str = ""
    about: str = ""

    @property
    def name(self) -> str:
        return self.key or self.title


@dataclass(frozen=True)
class Strip:
    """A column with its cells, some of them not shown because they repeat those above."""

    column: Column
    cells: Sequence[str]
    visible_cells: Sequence[str]
    align_left: bool = False

    @property
    def right(self) -> bool:
        """Numbers stand under each other by their last digit."""
        return not self.align_left and any(isinstance(cell, NumberText) for cell in self.cells)

    @property
    def hanging(self) -> bool:
        return any(cell.endswith(_MARKS) for cell in self.cells if isinstance(cell, NumberText))

    @property
    def natural(self) -> int:
        return max(natural(self.column.title), *(natural(cell) + self._hang(cell) for cell in self.cells), 0)

    @property
    def narrowest(self) -> int:
        cells = [narrowest(cell) + self._hang(cell) for cell in self.cells]
        needed = max(narrowest(self.column.title), *cells, 0)
        return needed if self.right else max(needed, min(self.natural, _TEXT))

    def padded(self, text: str, width: int) -> str:
        text += " " * (self._hang(text) and cell_len(text) < width)
        blanks = " " * (width - cell_len(text))
        return blanks + text if self.right else text + blanks

    def _hang(self, text: str) -> bool:
        return bool(text) and self.hanging and not text.endswith(_MARKS)

    @property
    def empty(self) -> bool:
        return self.natural == 0


@dataclass(frozen=True)
class Sheet:
    """The columns of a table; `gaps` are numbers of rows that begin a section, but for the first."""

    title: str
    strips: Sequence[Strip]
    gaps: Sequence[int]
    foot: Sequence[str]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return list(zip(*(strip.visible_cells for strip in self.strips), strict=True))

    @property
    def name_column(self) -> int:
        return next((i for i, strip in enumerate(self.strips) if strip.column.title), 0)


GAP = "  "


@dataclass(frozen=True)
class Fitted:
    """The lines, and the titles of the columns that found no room."""

    lines: Sequence[str]
    dropped: Sequence[str] = ()


def fitted(sheet: Sheet, width: int) -> Fitted:
    """The columns next to each other, those with the highest `drop` left out until the rest fits."""
    strips = sheet.strips
    kept = [strip for strip in strips if not strip.empty]
    while (widths := _widths(kept, width)) is None:
        going = max(reversed(kept), key=lambda strip: strip.column.drop)
        if not going.column.drop:
            return Fitted(_stacked(sheet, width))
        kept = [strip for strip in kept if strip is not going]
    return Fitted(
        _grid(kept, sheet.gaps, widths), [s.column.title for s in strips if s not in kept and not s.empty]
    )


def _widths(strips: Sequence[Strip], width: int) -> list[int] | None:
    room = width - len(GAP) * (len(strips) - 1)
    wide, narrow = [strip.natural for strip in strips], [strip.narrowest for strip in strips]
    if sum(narrow) > room:
        return None
    if sum(wide) <= room:
        return wide
    for most in range(max(wide, default=0), 0, -1):
        widths = [max(least, min(most, most_of)) for least, most_of in zip(narrow, wide, strict=True)]
        if sum(widths) <= room:
            return widths
    return narrow


def _grid(strips: Sequence[Strip], gaps: Sequence[int], widths: Sequence[int]) -> list[str]:
    lines = _line_cells([strip.column.title for strip in strips], strips, widths, bottom=True)
    lines.append("─" * max(map(cell_len, [*lines, GAP.join(" " * width for width in widths)])))
    for number, row in enumerate(zip(*(strip.visible_cells for strip in strips), strict=True)):
        lines += [""] if number in gaps else []
        lines += _line_cells(row, strips, widths)
    return lines


def _line_cells(
    cells: Sequence[str], strips: Sequence[Strip], widths: Sequence[int], bottom: bool = False
) -> list[str]:
    columns = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, columns))
    if bottom:
        columns = [[""] * (height - len(column)) + column for column in columns]
    rows = zip_longest(*columns, fillvalue="")
    return [GAP.join(map(Strip.padded, strips, row, widths)).rstrip() for row in rows]


def _stacked(sheet: Sheet, width: int) -> list[str]:
    strips, named = sheet.strips, sheet.name_column + 1
    lines: list[str] = []
    for row in zip(*(strip.cells for strip in strips), strict=True):
        name = " ".join(filter(None, row[:named]))
        fields = [(strip.column.title, cell) for strip, cell in zip(strips, row, strict=True)][named:]
        lines += [*([""] if lines else []), *wrapped(name, width), *_stacked_fields(fields, width)]
    return lines


def _stacked_fields(pairs: Sequence[tuple[str, str]], width: int) -> list[str]:
    shown = [(f"{GAP}{title}", cell) for title, cell in pairs if cell]
    if not shown:
        return []
    strips = [Strip(Column(""), column, column, align_left=True) for column in zip(*shown, strict=True)]
    if (widths := _widths(strips, width)) is None:
        return [line for title, cell in shown for line in wrapped(f"{title}: {cell}", width)]
    return [line for row in shown for line in _line_cells(row, strips, widths)]


# No line ends within an interval; on paper and on a phone it may stand below its figure.
_IN_INTERVAL = re.compile(r"(?<=,) (?=[^\[\]]*\])")

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<=": r"$\le$",
    ">": "$>$", "<": "$<$", "–": "--", "†": r"$\dagger$", "‡": r"$\ddagger$", "*": r"$^{*}$",
    "•": r"$\bullet$",
    "|": r"\textbar{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "µ": r"\textmu{}", "±": r"$\pm$",
}  # fmt: skip


def markdown_of(sheet: Sheet) -> str:
    """A heading and a pipe table, or the word `none` in place of its rows."""
    heading = f"### {sheet.title}\n\n" if sheet.title else ""
    if not sheet.rows:
        return f"{heading}none\n"
    rule = ["---:" if strip.right else "---" for strip in sheet.strips]
    lines = [
        [_piped(strip.column.title) for strip in sheet.strips],
        rule,
        *([*map(_piped, r)] for r in sheet.rows),
    ]
    foot = "".join(f"\n{_starred(line)}\n" for line in sheet.foot)
    return heading + "".join(f"| {' | '.join(line)} |\n" for line in lines) + foot


def _piped(cell: str) -> str:
    return _starred(cell).replace("|", "\\|").replace("\n", "<br>")


def _starred(text: str) -> str:
    return text.replace("*", "\\*")


def latex_of(sheet: Sheet) -> str:
    layout = "".join("r" if strip.right else "l" for strip in sheet.strips)
    titles = [strip.column.latex or latex_escaped(strip.column.title) for strip in sheet.strips]
    rows = [f"{' & '.join(map(_latex_cell, row))} \\\\" for row in sheet.rows]
    for gap in reversed(sheet.gaps):
        rows.insert(gap, r"\midrule")
    told = [f"{latex_escaped(line).removesuffix('.')}." for line in (sheet.title, *sheet.foot) if line]
    told = [line.replace("-: undefined", "--: undefined") for line in told]
    label = re.sub(r"[^a-z0-9]+", "-", sheet.title.partition(";")[0].lower()).strip("-")
    labels = [rf"\label{{tab:{label}}}"] if label else []
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{layout}}}", r"\toprule",
        f"{' & '.join(titles)} \\\\", r"\midrule", *rows, r"\bottomrule", r"\end{tabular}",
        rf"\caption{{{' '.join(told)}}}", *labels, r"\end{table}", "",
    ])  # fmt: skip


def _latex_cell(cell: str) -> str:
    if not isinstance(cell, NumberText):
        return latex_escaped(cell)
    return "--" if cell == UNDEFINED else re.sub(r"-(?=\d)", "$-$", latex_escaped(cell))


def latex_escaped(text: str) -> str:
    """Text as LaTeX shows it.

    >>> latex_escaped("p <= 5 %, a_b")
    'p $\\\\le$ 5 \\\\%, a\\\\_b'
    """
    special = "|".join(re.escape(mark) for mark in sorted(_LATEX, key=len, reverse=True))
    return re.sub(f"{special}|[&%$#_{{}}]", lambda m: _LATEX.get(m.group(), "\\" + m.group()), text)


def html_of(sheet: Sheet) -> str:
    """A `<table>` with its caption, and its foot below; all text is escaped."""
    caption = Markup("<caption><span>{}</span></caption>\n").format(sheet.title) if sheet.title else Markup()
    head = Markup().join(_html_cell(_heading(strip), strip.right, "col") for strip in sheet.strips)
    rows = [Markup("<tr>{}</tr>\n").format(_html_row(sheet, row)) for row in sheet.rows]
    for gap in reversed(sheet.gaps):
        rows.insert(gap, Markup("</tbody>\n<tbody>\n"))
    foot = Markup().join(Markup('<p class="lead">{}</p>\n').format(line) for line in sheet.foot)
    return Markup(
        '<div class="wide"><table>\n{}<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n{}'
    ).format(caption, head, Markup().join(rows), foot)


def _html_row(sheet: Sheet, row: tuple[str, ...]) -> Markup:
    cells = enumerate(zip(row, sheet.strips, strict=True))
    return Markup().join(
        _html_cell(cell, strip.right, "row" if place == sheet.name_column else "")
        for place, (cell, strip) in cells
    )


def _heading(strip: Strip) -> str:
    return (
        Markup("{}<small>{}</small>").format(strip.column.title, strip.column.about)
        if strip.column.about
        else strip.column.title
    )


def _html_cell(text: str, right: bool, scope: str) -> Markup:
    kinds = ["sure"] if isinstance(text, NumberText) and text.endswith(SIGNIFICANT) else []
    if isinstance(text, NumberText):
        text = _IN_INTERVAL.sub("\u00a0", text)
    kinds += [] if right else ["text"]
    tag = "th" if scope else "td"
    scoped = Markup(' scope="{}"').format(scope) if scope else Markup()
    styled = Markup(' class="{}"').format(" ".join(kinds)) if kinds else Markup()
    return Markup("<{}{}{}>{}</{}>").format(tag, scoped, styled, text, tag)


def records_of(sheet: Sheet) -> list[dict[str, Any]]:
    """A mapping a row: column -> value; an interval is a mapping itself."""
    rows = zip(*(strip.cells for strip in sheet.strips), strict=True)
    return [
        {
            strip.column.name: (cell.value if isinstance(cell, NumberText) else cell)
            for strip, cell in zip(sheet.strips, row, strict=True)
        }
        for row in rows
    ]


def csv_text(sheet: Sheet) -> str:
    """The records with their columns; `NAME low` and `NAME high` for an interval."""
    rows = [dict(_flat(record)) for record in records_of(sheet)]
    return csv_of(rows, [strip.column.name for strip in sheet.strips])


def csv_of(rows: Sequence[Mapping[str, Any]], empty: Sequence[str] = ()) -> str:
    """CSV with the names that any row has, in order (`empty` without rows); undefined values are empty."""
    names = dict.fromkeys(name for row in rows for name in row)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(names or empty), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from ((name if part == "value" else f"{name} {part}", one) for part, one in value.items())
        else:
            yield name, value


UNBOUNDED = 1_000_000
"""The width of a file: every row is one line."""

Row = Sequence[str]
"""Cells. Numbers come from `qe.display.numbers`, which keep their values; an empty row parts sections."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under titled columns; what the marks in its cells mean it shows by itself."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for row in self.body:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells for {len(self.columns)} columns: {row}")

    @property
    def body(self) -> list[Row]:
        return [row for row in self.rows if row]

    @property
    def gaps(self) -> list[int]:
        """The rows of the body that begin a section, but for the first."""
        places = [sum(map(bool, self.rows[:i])) for i, row in enumerate(self.rows) if not row]
        return sorted({place for place in places if 0 < place < len(self.body)})

    @property
    def sheet(self) -> Sheet:
        cells, shown = _transposed(self.body, self.columns), _transposed(self._merged(), self.columns)
        strips = list(map(Strip, self.columns, cells, shown))
        return Sheet(self.title, strips, self.gaps, self.foot)

    def _merged(self) -> list[Row]:
        rows: list[Row] = []
        for before, row in zip([(), *self.body], self.body, strict=False):
            same = bool(before)
            cells = []
            for column, above, cell in zip(self.columns, before or row, row, strict=True):
                same = same and (above == cell or not column.once)
                cells.append("" if same and column.once else cell)
            rows.append(cells)
        return rows

    @property
    def foot(self) -> list[str]:
        cells = (cell for row in self.body for cell in row if isinstance(cell, NumberText))
        marks = dict.fromkeys(cell.legend for cell in cells if cell.legend)
        return [*(["; ".join(marks)] if marks else []), *self.notes]

    def text(self, width: int, sentences: int | None = None) -> str:
        """For a terminal of that width: no number is cut, and columns without room are named."""
        fit = fitted(self.sheet, width)
        dropped = [f"no room in {width} columns for {', '.join(fit.dropped)}"] if fit.dropped else []
        above, below = [self.title] if self.title else [], [*dropped, *self.foot]
        body = fit.lines if self.body else ["none"]
        told = sentences or width
        return "\n".join([*_lines(above, told), *body, *_lines(below, told)]) + "\n"

    def markdown(self) -> str:
        return markdown_of(self.sheet)

    def latex(self) -> str:
        return latex_of(self.sheet)

    def html(self) -> str:
        return html_of(self.sheet)

    def records(self) -> list[dict[str, Any]]:
        """For JSON: a mapping a row; numbers with all their digits, None where undefined."""
        return records_of(self.sheet)

    def csv(self) -> str:
        """For programs: numbers with all their digits, an interval in two columns."""
        return csv_text(self.sheet)


def _lines(texts: Sequence[str], width: int) -> list[str]:
    return [line for text in texts for line in wrapped(text, width, whole_words=True)]


def _transposed(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    return list(zip(*rows, strict=True)) if rows else [()] * len(columns)
