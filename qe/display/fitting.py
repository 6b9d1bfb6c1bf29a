"""Cells in columns that fit a width: wrapped, then dropped, at last rows are stacked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len

from qe.display.sheet import Sheet, Strip
from qe.display.wrapping import wrapped

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
        going = max(reversed(kept), key=lambda strip: strip.drop)
        if not going.drop:
            return Fitted(_stacked(sheet, width))
        kept = [strip for strip in kept if strip is not going]
    return Fitted(_grid(kept, sheet.gaps, widths), [s.title for s in strips if s not in kept and not s.empty])


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
    lines = _lines([strip.title for strip in strips], strips, widths, bottom=True)
    lines.append("─" * max(map(cell_len, [*lines, GAP.join(" " * width for width in widths)])))
    for number, row in enumerate(zip(*(strip.visible_cells for strip in strips), strict=True)):
        lines += [""] if number in gaps else []
        lines += _lines(row, strips, widths)
    return lines


def _lines(
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
        fields = [(strip.title, cell) for strip, cell in zip(strips, row, strict=True)][named:]
        lines += [*([""] if lines else []), *wrapped(name, width), *_fields(fields, width)]
    return lines


def _fields(pairs: Sequence[tuple[str, str]], width: int) -> list[str]:
    shown = [(f"{GAP}{title}", cell) for title, cell in pairs if cell]
    if not shown:
        return []
    strips = [Strip("", column, column, align_left=True) for column in zip(*shown, strict=True)]
    if (widths := _widths(strips, width)) is None:
        return [line for title, cell in shown for line in wrapped(f"{title}: {cell}", width)]
    return [line for row in shown for line in _lines(row, strips, widths)]
