"""One table for terminal, Markdown, LaTeX, HTML, CSV and JSON: its cells are made once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qe.display import markup, records
from qe.display.fitting import fitted
from qe.display.numbers import NumberText
from qe.display.sheet import Sheet, Strip
from qe.display.wrapping import wrapped


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
        strips = [
            Strip(
                column.title,
                own,
                told,
                column.key or column.title,
                column.drop,
                column.latex,
                about=column.about,
            )
            for column, own, told in zip(self.columns, cells, shown, strict=True)
        ]
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
        return markup.markdown(self.sheet)

    def latex(self) -> str:
        return markup.latex(self.sheet)

    def html(self) -> str:
        return markup.html(self.sheet)

    def records(self) -> list[dict[str, Any]]:
        """For JSON: a mapping a row; numbers with all their digits, None where undefined."""
        return records.records(self.sheet)

    def csv(self) -> str:
        """For programs: numbers with all their digits, an interval in two columns."""
        return records.csv_text(self.sheet)


def _lines(texts: Sequence[str], width: int) -> list[str]:
    return [line for text in texts for line in wrapped(text, width, whole_words=True)]


def _transposed(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    return list(zip(*rows, strict=True)) if rows else [()] * len(columns)
