"""Workbooks that are refused, whatever they hold or cost."""

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from qe.data.translation_files.xlsx import Sheet
from tests.data.translation_files.test_xlsx import HEADER, SHEET, A, Change, rewritten, saved, swapped
from tests.factories import Monkeypatch, refuses

HUGE = b'<!DOCTYPE x [<!ENTITY a "%s"><!ENTITY b "%s">]>' % (b"y" * 1000, b"&a;" * 1200)
CELL = b'<c r="A2" t="inlineStr"><is><t>1</t></is></c>'


def hidden(content: bytes) -> Change:
    """The sheet with more in it, under a name that does not say that it is XML."""

    def change(parts: dict[str, bytes]) -> None:
        parts["xl/worksheets/sheet1.dat"] = parts.pop(SHEET).replace(b"<sheetData>", b"<sheetData>" + content)
        for name in ("xl/_rels/workbook.xml.rels", "[Content_Types].xml"):
            parts[name] = parts[name].replace(b"sheet1.xml", b"sheet1.dat")

    return change


def shared(formula: bytes, cells: int) -> bytes:
    rows = (b'<row r="%d"><c r="D%d"><f t="shared" si="0"/></c></row>' % (i, i) for i in range(4, 3 + cells))
    first = b'<row r="3"><c r="D3"><f t="shared" ref="D3:D%d" si="0">%s</f></c></row>' % (3 + cells, formula)
    return first + b"".join(rows)


def many_parts(parts: dict[str, bytes]) -> None:
    parts.update({f"docs/{number}.bin": b"" for number in range(30)})


def in_part(name: str, begin: bytes, content: bytes) -> Change:
    return swapped(name, begin, begin + content)


CELL_FORMATS = b'<cellXfs count="1">'


XF = b'<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'


RULES = b"<dataValidations><dataValidation sqref='%s'/></dataValidations>"


LONG = b'<row r="3"><c r="A3" t="inlineStr"><is><t>%s</t></is></c></row>'
# What is done to the parts of a workbook, the limits that are smaller here, and where the refusal points.
PARTS: dict[str, tuple[Change, dict[str, int], str]] = {
    "entities": (swapped(SHEET, b"<worksheet", HUGE + b"<worksheet"), {}, "sheet1.xml: .*document type"),
    "entities elsewhere": (swapped("xl/styles.xml", b"<style", HUGE + b"<style"), {}, "styles.xml: .*type"),
    "a row without end": (swapped(SHEET, b"</row>", b"<c/>" * 20_000 + b"</row>"), {}, "16,384 cells"),
    "merged": (in_part(SHEET, b"</sheetData>", b'<mergeCells><mergeCell ref="A3:B1048576"/></mergeCells>'),
               {}, "merged or linked .*200,000 cells, the last A3:B1048576"),
    "linked": (in_part(SHEET, b"</sheetData>", b'<hyperlinks><hyperlink ref="A1:XFD9999"/></hyperlinks>'), {},
               "merged or linked .*200,000 cells, the last A1:XFD9999"),
    "style": (swapped(SHEET, b'r="A2"', b'r="A2" s="999"'), {}, "not an XLSX file"),
    "string": (swapped(SHEET, CELL, b'<c r="A2" t="s"><v>99</v></c>'), {}, "not an XLSX file"),
    "no sheet": (swapped("xl/workbook.xml", b"rId1", b"rId9"), {}, "not an XLSX file"),
    "number": (swapped(SHEET, CELL, b'<c r="A2"><v>x</v></c>'), {}, "not an XLSX file"),
    "column": (swapped(SHEET, b'r="A2"', b'r="AAAA2"'), {}, "not an XLSX file"),
    "row": (swapped(SHEET, b'r="A2"', b'r="A1048577"'), {}, "row 1,048,577, .*1,048,576 rows"),
    "no workbook": (swapped("[Content_Types].xml", b"sheet.main+xml", b"sheet.x+xml"), {}, "not an XLSX"),
    "sheet elsewhere": (swapped("xl/_rels/workbook.xml.rels", b"sheet1", b"sheet7"), {}, "has no sheet that"),
    "half a part": (swapped(SHEET, b"</sheetData>", b""), {}, "not an XLSX file"),
    "hidden cells": (hidden(b"<row>" + b"<c/>" * 99 + b"</row>"), {"MAX_CELLS": 50},
                     "sheet1.dat: has more than 50 cells"),
    "hidden rows": (hidden(b"<row/>" * 900), {"MAX_ELEMENTS": 500}, "has more than 500 elements"),
    "hidden entities": (lambda parts: hidden(b"")(parts) or parts.update(
        {"xl/worksheets/sheet1.dat": HUGE + parts["xl/worksheets/sheet1.dat"]}), {}, "has a document type"),
    "styles": (in_part("xl/styles.xml", CELL_FORMATS, XF * 999), {"MAX_OBJECTS": 500},
               "styles.xml: has more than 500 styles, comments, rules"),
    "areas of a rule": (in_part(SHEET, b"</sheetData>", RULES % (b"A1 " * 999)), {"MAX_OBJECTS": 500},
                        "has more than 500 styles, comments, rules"),
    "a long formula": (in_part(SHEET, b"<sheetData>", shared(b"A1+" * 4000 + b"A1", 2)), {},
                       "a formula has more than 8,192 characters"),
    "a shared formula": (in_part(SHEET, b"<sheetData>", shared(b"A1+" * 900 + b"A1", 99)),
                         {"MAX_SHARED": 99_999},
                         "shared formulas have more than 99,999 characters in their cells"),
    "a long cell": (in_part(SHEET, b"<sheetData>", LONG % (b"x\n" * 999)), {"MAX_LINE": 1000},
                    "cell longer than 16 MiB"),
    "long cells": (in_part(SHEET, b"<sheetData>", (LONG % (b"x" * 900)) * 3), {"MAX_BYTES": 2000}, "1 GiB"),
    "parts": (many_parts, {"MAX_PARTS": 30}, "has more than 30 parts"),
    "unpacked": (lambda parts: None, {"MAX_BYTES": 1000}, "unpacks to more than"),
    "cells": (lambda parts: None, {"MAX_CELLS": 5}, "has more than 5 cells"),
}  # fmt: skip
# Rows, the place of the header in them, and where the refusal points.
SHEETS: dict[str, tuple[list[list[Any]], tuple[Any, ...], str]] = {
    "a header twice": ([["id", "target", "target"], A], (), r"Sheet:1: .*'target'"),
    "no header": ([[], A], (), "header is empty; --header-row"),
    "header row beyond the sheet": ([HEADER], ("", 9), "Sheet:9: .*header is empty"),
    "unknown sheet": ([HEADER], ("Shet",), "'Shet'; known: Sheet; .*'Sheet'"),
    "sheet number": ([HEADER], ("3",), "sheet '3'"),
}  # fmt: skip
# Parts as large as attackers made them, built when the test runs.
LARGE: dict[str, tuple[Callable[[], Change], str]] = {
    "8 million hidden cells": (lambda: hidden((b"<row>" + b"<c><v>1</v></c>" * 8000 + b"</row>") * 1000),
                               "more than 5,000,000 cells"),
    "80 MB of styles": (lambda: in_part("xl/styles.xml", CELL_FORMATS, XF * (80 * 2**20 // len(XF))),
                        "more than 1,000,000 styles"),
    "a formula of 1 MB in 2,000 cells": (
        lambda: in_part(SHEET, b"<sheetData>", shared(b"A1+" * (2**20 // 3) + b"A1", 2000)),
        "a formula has more",
    ),
    "a formula of 6 KB in 8,000 cells": (
        lambda: in_part(SHEET, b"<sheetData>", shared(b"A1+" * 2000 + b"A1", 8000)),
        "shared formulas have more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_parts(case: str, tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    change, limits, place = PARTS[case]
    for limit, value in limits.items():
        monkeypatch.setattr(f"qe.data.translation_files.xlsx.{limit}", value)
    refuses(place, Sheet, rewritten(saved(tmp_path / "a.xlsx", HEADER, A), change))


@pytest.mark.parametrize("case", SHEETS)
def test_sheets(case: str, tmp_path: Path) -> None:
    rows, header, place = SHEETS[case]
    refuses(place, Sheet, saved(tmp_path / "a.xlsx", *rows), *header)


@pytest.mark.parametrize(
    ("content", "place"),
    [(b"no workbook", "not an XLSX file"), (b"\xd0\xcf\x11\xe0rest", "encrypted")],
)
def test_other_files(content: bytes, place: str, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    refuses(place, Sheet, tmp_path / "a.xlsx")


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_they_are_refused_within_ten_seconds_of_cpu(name: str, tmp_path: Path) -> None:
    change, message = LARGE[name]
    path, begun = rewritten(saved(tmp_path / "a.xlsx", HEADER, A), change()), process_time()
    refuses(message, Sheet, path)
    assert process_time() - begun < 10
