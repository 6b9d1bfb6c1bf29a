"""One table for terminal, Markdown, LaTeX, HTML, CSV and JSON: its cells are made once."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

from markupsafe import Markup
from rich.cells import cell_len

from qe.display.numbers import MARKS, SIGNIFICANT, UNDEFINED, NumberText

_NUMBER = re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?")
_AFTER = "_-/\\=:;,|.+&?"
# A word without a place to break it is broken wherever it may be, rather than be wider than that.
_LONGEST = 24


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
    if isinstance(text, NumberText):
        return max(map(cell_len, text.pieces), default=0)
    needed = 0
    for word in text.split():
        longest = max(map(cell_len, _parts(word)))
        if longest > _LONGEST:
            longest = max(_LONGEST, *map(cell_len, _parts(word, anywhere=True)))
        needed = max(needed, longest)
    return needed


def natural(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


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
        for piece in [part] if cell_len(part) <= width else _parts(part, anywhere=True):
            if lines[-1] and cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    return lines


def _parts(word: str, anywhere: bool = False) -> list[str]:
    """The parts of a word behind a sign such as `-`, or its characters; numbers stay whole."""
    inside = {i for found in _NUMBER.finditer(word) for i in range(found.start() + 1, found.end())}
    ends = [i for i in range(1, len(word)) if i not in inside and (anywhere or word[i - 1] in _AFTER)]
    return [word[a:b] for a, b in pairwise([0, *ends, len(word)])]


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
        if not text or text.endswith(_MARKS):
            return False
        return any(cell.endswith(_MARKS) for cell in self.cells if isinstance(cell, NumberText))


GAP = "  "


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


def _stacked(strips: Sequence[Strip], width: int) -> list[str]:
    named = _name_column(strips) + 1
    lines: list[str] = []
    for row in zip(*(strip.cells for strip in strips), strict=True):
        name = " ".join(filter(None, row[:named]))
        fields = [(strip.column.title, cell) for strip, cell in zip(strips, row, strict=True)][named:]
        lines += [*([""] if lines else []), *wrapped(name, width)]
        shown = [(f"{GAP}{title}", cell) for title, cell in fields if cell]
        columns = [Strip(Column(""), column, column, align_left=True) for column in zip(*shown, strict=True)]
        if (widths := _widths(columns, width)) is None:
            lines += [line for title, cell in shown for line in wrapped(f"{title}: {cell}", width)]
        else:
            lines += [line for cells in shown for line in _line_cells(cells, columns, widths)]
    return lines


def _name_column(strips: Sequence[Strip]) -> int:
    return next((i for i, strip in enumerate(strips) if strip.column.title), 0)


# No line ends within an interval; on paper and on a phone it may stand below its figure.
_IN_INTERVAL = re.compile(r"(?<=,) (?=[^\[\]]*\])")

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<=": r"$\le$",
    ">": "$>$", "<": "$<$", "–": "--", "†": r"$\dagger$", "‡": r"$\ddagger$", "*": r"$^{*}$",
    "•": r"$\bullet$",
    "|": r"\textbar{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "µ": r"\textmu{}", "±": r"$\pm$",
}  # fmt: skip


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


def _html_cell(text: str, right: bool, scope: str) -> Markup:
    kinds = ["sure"] if isinstance(text, NumberText) and text.endswith(SIGNIFICANT) else []
    if isinstance(text, NumberText):
        text = _IN_INTERVAL.sub("\u00a0", text)
    kinds += [] if right else ["text"]
    tag = "th" if scope else "td"
    scoped = Markup(' scope="{}"').format(scope) if scope else Markup()
    styled = Markup(' class="{}"').format(" ".join(kinds)) if kinds else Markup()
    return Markup("<{}{}{}>{}</{}>").format(tag, scoped, styled, text, tag)


def csv_of(rows: Sequence[Mapping[str, Any]], empty: Sequence[str] = ()) -> str:
    """CSV with the names that any row has, in order (`empty` without rows); undefined values are empty."""
    names = dict.fromkeys(name for row in rows for name in row)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(names or empty), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


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

    def _strips(self) -> list[Strip]:
        rows: list[Row] = []
        for before, row in zip([(), *self.body], self.body, strict=False):
            same = bool(before)
            cells = []
            for column, above, cell in zip(self.columns, before or row, row, strict=True):
                same = same and (above == cell or not column.once)
                cells.append("" if same and column.once else cell)
            rows.append(cells)
        nothing: list[Row] = [()] * len(self.columns)
        return list(
            map(
                Strip,
                self.columns,
                zip(*self.body, strict=True) if rows else nothing,
                zip(*rows, strict=True) if rows else nothing,
            )
        )

    def _sections(self, rows: Sequence[str], between: str) -> list[str]:
        lines = list(rows)
        for gap in reversed(self.gaps):
            lines.insert(gap, between)
        return lines

    @property
    def foot(self) -> list[str]:
        cells = (cell for row in self.body for cell in row if isinstance(cell, NumberText))
        marks = dict.fromkeys(cell.legend for cell in cells if cell.legend)
        return [*(["; ".join(marks)] if marks else []), *self.notes]

    def text(self, width: int, sentences: int | None = None) -> str:
        """For a terminal of that width: no number is cut, and columns without room are named."""
        strips = self._strips()
        kept = [strip for strip in strips if strip.natural]
        while (widths := _widths(kept, width)) is None:
            going = max(reversed(kept), key=lambda strip: strip.column.drop)
            if not going.column.drop:
                break
            kept = [strip for strip in kept if strip is not going]
        dropped: list[str] = []
        if widths is not None:
            dropped = [strip.column.title for strip in strips if strip not in kept and strip.natural]
        lines = ["none"]
        if self.body:
            lines = _stacked(strips, width) if widths is None else _grid(kept, self.gaps, widths)
        omitted = [f"no room in {width} columns for {', '.join(dropped)}"] if dropped else []

        def sentence_lines(texts: Sequence[str]) -> list[str]:
            return [line for text in texts for line in wrapped(text, sentences or width, whole_words=True)]

        above = sentence_lines([self.title] if self.title else [])
        return "\n".join([*above, *lines, *sentence_lines([*omitted, *self.foot])]) + "\n"

    def markdown(self) -> str:
        """A heading and a pipe table, or the word `none` in place of its rows."""
        heading = f"### {self.title}\n\n" if self.title else ""
        if not self.body:
            return f"{heading}none\n"
        strips = self._strips()
        stars = str.maketrans({"*": "\\*"})
        escapes = stars | str.maketrans({"|": "\\|", "\n": "<br>"})
        cells = ([strip.column.title, *strip.visible_cells] for strip in strips)
        head, *rows = zip(*([cell.translate(escapes) for cell in column] for column in cells), strict=True)
        rule = ["---:" if strip.right else "---" for strip in strips]
        foot = "".join(f"\n{line.translate(stars)}\n" for line in self.foot)
        return heading + "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows)) + foot

    def latex(self) -> str:
        strips = self._strips()
        layout = "".join("r" if strip.right else "l" for strip in strips)
        titles = [strip.column.latex or latex_escaped(strip.column.title) for strip in strips]
        shown = zip(*(map(_latex_cell, strip.visible_cells) for strip in strips), strict=True)
        rows = self._sections([f"{' & '.join(row)} \\\\" for row in shown], r"\midrule")
        told = [f"{latex_escaped(line).removesuffix('.')}." for line in (self.title, *self.foot) if line]
        told = [line.replace("-: undefined", "--: undefined") for line in told]
        label = re.sub(r"[^a-z0-9]+", "-", self.title.partition(";")[0].lower()).strip("-")
        labels = [rf"\label{{tab:{label}}}"] if label else []
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\begin{{tabular}}{{{layout}}}",
                r"\toprule",
                f"{' & '.join(titles)} \\\\",
                r"\midrule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                rf"\caption{{{' '.join(told)}}}",
                *labels,
                r"\end{table}",
                "",
            ]
        )

    def html(self) -> str:
        """A `<table>` with its caption, and its foot below; all text is escaped."""
        strips, join, about = self._strips(), Markup().join, Markup("{}<small>{}</small>")
        name_column = _name_column(strips)
        caption = Markup()
        if self.title:
            caption = Markup("<caption><span>{}</span></caption>\n").format(self.title)
        columns = [(strip.column.title, strip.column.about, strip.right) for strip in strips]
        head = join(_html_cell(about.format(t, a) if a else t, right, "col") for t, a, right in columns)
        cells = (
            [
                _html_cell(cell, strip.right, "row" if place == name_column else "")
                for cell in strip.visible_cells
            ]
            for place, strip in enumerate(strips)
        )
        rows = [Markup("<tr>{}</tr>\n").format(join(row)) for row in zip(*cells, strict=True)]
        foot = join(Markup('<p class="lead">{}</p>\n').format(line) for line in self.foot)
        return Markup(
            '<div class="wide"><table>\n{}<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n{}'
        ).format(caption, head, join(self._sections(rows, Markup("</tbody>\n<tbody>\n"))), foot)

    def records(self) -> list[dict[str, Any]]:
        """For JSON: a mapping a row; numbers with all digits, None if undefined; intervals are mappings."""
        names = [column.name for column in self.columns]
        values = ([cell.value if isinstance(cell, NumberText) else cell for cell in row] for row in self.body)
        return [dict(zip(names, row, strict=True)) for row in values]

    def csv(self) -> str:
        """For programs: numbers with all digits, an interval in two columns (`NAME low`, `NAME high`)."""
        rows: list[dict[str, Any]] = []
        for record in self.records():
            rows.append({})
            for name, value in record.items():
                parts = value if isinstance(value, Mapping) else {"value": value}
                rows[-1] |= {name if part == "value" else f"{name} {part}": parts[part] for part in parts}
        return csv_of(rows, [column.name for column in self.columns])
