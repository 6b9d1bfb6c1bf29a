"""A table ready to be written: its columns with their cells, and what stands around them."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from qe.display.numbers import MARKS, NumberText
from qe.display.wrapping import narrowest, natural

_TEXT = 12  # a column of texts is wrapped no narrower than that, if it has so long ones
_MARKS = tuple(MARKS)


@dataclass(frozen=True)
class Strip:
    """A column with its cells, some of them not shown because they repeat those above."""

    title: str
    cells: Sequence[str]
    visible_cells: Sequence[str]
    name: str = ""
    drop: int = 0
    latex: str = ""
    align_left: bool = False
    about: str = ""

    @property
    def right(self) -> bool:
        """Numbers stand under each other by their last digit."""
        return not self.align_left and any(isinstance(cell, NumberText) for cell in self.cells)

    @property
    def hanging(self) -> bool:
        return any(cell.endswith(_MARKS) for cell in self.cells if isinstance(cell, NumberText))

    @property
    def natural(self) -> int:
        return max(natural(self.title), *(natural(cell) + self._hang(cell) for cell in self.cells), 0)

    @property
    def narrowest(self) -> int:
        cells = [narrowest(cell) + self._hang(cell) for cell in self.cells]
        needed = max(narrowest(self.title), *cells, 0)
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
        return next((i for i, strip in enumerate(self.strips) if strip.title), 0)
