"""XLSX as people fill it in; what is written is read back by openpyxl."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from qe.data.translation_files.xlsx import Sheet, write_book
from tests.factories import refuses

openpyxl = pytest.importorskip("openpyxl")
HEADER = ["id", "source", "target"]


def saved(path: Path, *rows: list[Any], then: Callable[[Any], object] = lambda book: None) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    then(book)
    book.save(path)
    return path


def merge(book: Any) -> None:
    book.active.merge_cells("B2:B3")


def hide(book: Any) -> None:
    book.active.row_dimensions[2].hidden = True
    book.active.column_dimensions["B"].hidden = True


def title_above(book: Any) -> None:
    book.active.insert_rows(1, 2)
    book.active["A1"] = "Title"
    book.active.merge_cells("A1:C1")


def second_sheet(book: Any) -> None:
    book.active.sheet_state = "hidden"
    sheet = book.create_sheet("second")
    for row in (HEADER, ["9", "X", "Y"]):
        sheet.append(row)


A, C = ["1", "A", "B"], ["2", "C", "D"]
# name -> rows, what is done to the book, where the table is, (source, target) of the rows that are read.
CASES: dict[str, tuple[list[list[Any]], Callable[[Any], object], tuple[Any, ...], list[tuple[str, str]]]] = {
    "plain": ([HEADER, A, C], lambda book: None, (), [("A", "B"), ("C", "D")]),
    "empty rows": ([HEADER, A, [], C, []], lambda book: None, (), [("A", "B"), ("C", "D")]),
    "hidden rows and columns": ([HEADER, A, C], hide, (), [("A", "B"), ("C", "D")]),
    "merged source": ([HEADER, A, ["2", None, "D"]], merge, (), [("A", "B"), ("A", "D")]),
    "header below a title": ([HEADER, A], title_above, ("", 3), [("A", "B")]),
    "first sheet is hidden": ([HEADER, A], second_sheet, (), [("X", "Y")]),
    "sheet by its name": ([HEADER, A], second_sheet, ("Sheet",), [("A", "B")]),
    "sheet by its number": ([HEADER, A], second_sheet, ("2",), [("X", "Y")]),
    "numbers, truth, dates": ([HEADER, ["1", 12, 2.5], ["2", True, 0]], lambda book: None, (),
                              [("12", "2.5"), ("TRUE", "0")]),
    "columns without a header": ([["", "source", "", "target", ""], ["x", "A", "y", "B", "z"]],
                                 lambda book: None, (), [("A", "B")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows(name: str, tmp_path: Path) -> None:
    rows, then, location, expected = CASES[name]
    sheet = Sheet(saved(tmp_path / "a.xlsx", *rows, then=then), *location)
    assert [(row.texts["source"], row.texts["target"]) for row in sheet.rows] == expected


def with_cached_value(path: Path, cell: str, formula: str, value: str, kind: str = "str") -> None:
    """Writes a formula with its value, as spreadsheets do; openpyxl writes formulas alone."""
    filled = f'<c r="{cell}" t="{kind}"><f>{formula}</f><v>{value}</v></c>'.encode()
    empty = f'<c r="{cell}"><f>{re.escape(formula)}</f><v(/| /|></v)></c>'.encode()

    def change(parts: dict[str, bytes]) -> None:
        parts[SHEET], replaced = re.subn(empty, filled, parts[SHEET])
        assert replaced == 1

    rewritten(path, change)


def test_a_formula_has_the_value_that_was_computed_or_a_reason(tmp_path: Path) -> None:
    rows = ["1", "=B9", "B"], ["2", "=B8", "D"], ["3", "=1/0", "F"]
    path = saved(tmp_path / "a.xlsx", HEADER, *rows)
    with_cached_value(path, "B2", "B9", "A &amp; a")
    with_cached_value(path, "B4", "1/0", "#DIV/0!", "e")
    first, second, third = Sheet(path).rows
    assert first.texts["source"] == "A & a" and not first.reasons
    assert second.reasons["source"].startswith("source is a formula without its value")
    assert third.reasons["source"] == "source is the error #DIV/0!"


def test_columns_are_put_behind_everything_and_keep_what_was_there(tmp_path: Path) -> None:
    def more(book: Any) -> None:
        book.active["E3"] = "remark"
        book.active["B2"] = "=1+1"
        book.active["C2"].number_format = "0.00"
        book.active.merge_cells("F4:G4")
        book.create_sheet("other").append(["x"])

    path = saved(tmp_path / "a.xlsx", HEADER, A, C, then=more)
    sheet = Sheet(path)
    sheet.add({"score": "score_qe", "because": "because"}, {2: {"score": 2.5, "because": "=1+1"}})
    sheet.save(tmp_path / "b.xlsx")
    (made, _) = openpyxl.load_workbook(tmp_path / "b.xlsx").worksheets
    assert [made[name].value for name in ("H1", "I1", "H2", "I2", "H3")] == [
        "score_qe", "because", 2.5, "=1+1", None,
    ]  # fmt: skip
    assert [made[name].data_type for name in ("H2", "I2", "B2")] == ["n", "s", "f"]
    assert made["E3"].value == "remark" and made["C2"].number_format == "0.00"


# Cell content -> its text (ECMA-376, ST_Xstring).
ESCAPES = {
    "a_x000D_\nb": "a\r\nb",
    "tab_x0009_here": "tab\there",
    "a_x005F_x000D_b": "a_x000D_b",
    "_x005f_x0009_": "_x0009_",
    "_x005F_x005F_x005F_x000D_": "_x005F_x000D_",
    "0x005F_": "0x005F_",
    "_xD83D__xDE00_": "\U0001f600",
    "_x00e9_ _x12_ _x_": "\xe9 _x12_ _x_",
}


@pytest.mark.parametrize("kind", ["inlineStr", "s", "str", "rich"])
@pytest.mark.parametrize("cell", ESCAPES)
def test_escapes_are_characters_and_stay_in_the_file(kind: str, cell: str, tmp_path: Path) -> None:
    source, output = saved(tmp_path / "a.xlsx", HEADER, ["1", "X", "Y"]), tmp_path / "b.xlsx"
    inline = b'<c r="B2" t="inlineStr"><is><t>X</t></is></c>'
    made = {
        "inlineStr": f'<c r="B2" t="inlineStr"><is><t>{cell}</t></is></c>',
        "s": '<c r="B2" t="s"><v>0</v></c>',
        "str": f'<c r="B2" t="str"><f>D9</f><v>{cell}</v></c>',
        "rich": f'<c r="B2" t="inlineStr"><is><r><rPr><b/></rPr><t>{cell}</t></r></is></c>',
    }[kind]
    rewritten(source, swapped(SHEET, inline, made.encode()))
    if kind == "s":
        with_shared_string(source, cell)
    sheet = Sheet(source)
    assert sheet.rows[0].texts["source"] == ESCAPES[cell]
    sheet.add({"because": "because"}, {2: {"because": ESCAPES[cell]}})
    sheet.save(output)
    again = Sheet(output).rows[0]
    assert again.texts["because"] == ESCAPES[cell]
    assert again.texts["source"] == ("" if kind == "str" else ESCAPES[cell])  # openpyxl writes the formula


def with_shared_string(path: Path, text: str) -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with ZipFile(path, "a") as parts:
        parts.writestr("xl/sharedStrings.xml", f'<sst xmlns="{main}"><si><t>{text}</t></si></sst>')
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'.encode()
    rewritten(path, swapped("[Content_Types].xml", b"</Types>", part))


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    numbers = [45231.604166666664, 0.1 + 0.2, 2**53 + 1, 12345678901234567890, -1e-300, 2.5, 7]
    path = saved(tmp_path / "a.xlsx", [*HEADER, *"abcdefg"], [*A, *numbers])

    def change(parts: dict[str, bytes]) -> None:
        for number in numbers:
            parts[SHEET] = parts[SHEET].replace(
                f"<v>{number:.16g}</v>".encode(), f"<v>{number!r}</v>".encode()
            )

    sheet = Sheet(rewritten(path, change))
    sheet.add({"score": "score"}, {2: {"score": 1 / 3}})
    sheet.save(tmp_path / "b.xlsx")
    again = Sheet(tmp_path / "b.xlsx").rows[0].texts
    assert [again[name] for name in "abcdefg"] == [str(number) for number in numbers]
    assert float(again["score"]) == 1 / 3


@pytest.mark.slow
def test_a_sheet_without_room(tmp_path: Path) -> None:
    sheet = Sheet(saved(tmp_path / "a.xlsx", HEADER, A, then=lambda book: book.active.merge_cells("A1:XFD1")))
    refuses("no room for more columns", sheet.add, {"score": "score"}, {})


SHEET = "xl/worksheets/sheet1.xml"
Change = Callable[[dict[str, bytes]], None]  # of the parts of a workbook


def swapped(part: str, old: bytes, new: bytes) -> Change:
    """Puts something else into a part."""

    def change(parts: dict[str, bytes]) -> None:
        assert old in parts[part], parts[part]
        parts[part] = parts[part].replace(old, new, 1)

    return change


def rewritten(path: Path, change: Change) -> Path:
    """The workbook after a change of its parts."""
    with ZipFile(path) as given:
        parts = {name: given.read(name) for name in given.namelist()}
    change(parts)
    with ZipFile(path, "w", ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return path


def test_a_picture_may_have_a_document_type(tmp_path: Path) -> None:
    svg = b'<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]><svg xmlns="&ns;"/>'
    path = rewritten(
        saved(tmp_path / "a.xlsx", HEADER, A), lambda parts: parts.update({"xl/media/a.svg": svg})
    )
    assert len(Sheet(path).rows) == 1


def ranges(*, table: str = "", second: str = "", sheet_filter: str = "") -> Callable[[Any], object]:
    from openpyxl.worksheet.table import Table

    def then(book: Any) -> None:
        for number, area in enumerate(filter(None, (table, second)), start=1):
            book.active.add_table(Table(displayName=f"Table{number}", ref=area))
        if sheet_filter:
            book.active.auto_filter.ref = sheet_filter
            book.active.auto_filter.add_sort_condition("C2:C3")

    return then


NOTED = [*HEADER, "note"]
# Rows and ranges -> ranges after two columns were added, and the columns of the table.
WIDENED: dict[str, tuple[list[list[Any]], Callable[[Any], object], dict[str, str], list[str]]] = {
    "none": ([HEADER, A, C], ranges(), {}, []),
    "table": ([HEADER, A, C], ranges(table="A1:C3"), {"Table1": "A1:E3"}, [*HEADER, "score", "reason"]),
    "filter": ([HEADER, A, C], ranges(sheet_filter="$A$1:$C$3"), {"filter": "A1:E3"}, []),
    "cells beside the table": ([NOTED, [*A, "x"]], ranges(table="A1:C2"), {"Table1": "A1:F2"},
                               [*NOTED, "score", "reason"]),
    "cells without a header": ([HEADER, [*A, "x"]], ranges(table="A1:C2"), {"Table1": "A1:F2"},
                               [*HEADER, "Column4", "score", "reason"]),
    "a number as a header": ([[*HEADER, 7], [*A, "x"]], ranges(table="A1:C2"), {"Table1": "A1:F2"},
                             [*HEADER, "7", "score", "reason"]),
    "two tables": ([HEADER, A], ranges(table="A1:B2", second="C1:C2"),
                   {"Table1": "A1:B2", "Table2": "C1:C2"}, []),
    "filter in other rows": ([HEADER, A, C], ranges(sheet_filter="A2:C3"), {"filter": "A2:C3"}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDENED)
def test_the_range_of_a_table_or_filter_takes_in_the_columns(name: str, tmp_path: Path) -> None:
    rows, then, expected, columns = WIDENED[name]
    sheet = Sheet(saved(tmp_path / "a.xlsx", *rows, then=then))
    added = {row.number: {"score": 0.5, "reason": ""} for row in sheet.rows}
    sheet.add({"score": "score", "reason": "reason"}, added)
    sheet.save(tmp_path / "b.xlsx")
    written = openpyxl.load_workbook(tmp_path / "b.xlsx").active
    found = {table.displayName: table.ref for table in written.tables.values()}
    found |= {"filter": written.auto_filter.ref} if written.auto_filter.ref else {}
    assert found == expected
    assert columns == [] or [column.name for column in written.tables["Table1"].tableColumns] == columns
    assert not columns or [written.cell(1, place).value for place in range(1, 1 + len(columns))] == columns
    if name == "filter":
        assert written.auto_filter.sortState.ref == "A1:E3"
        assert b"'Sheet'!$A$1:$E$3" in ZipFile(tmp_path / "b.xlsx").read("xl/workbook.xml")


def test_a_table_has_no_two_columns_of_one_name_in_capitals_or_not(tmp_path: Path) -> None:
    rows = [[*HEADER, "Score"], [*A, 1]]
    sheet = Sheet(saved(tmp_path / "a.xlsx", *rows, then=ranges(table="A1:D2")))
    refuses("table has a column 'score'", sheet.add, {"score": "score"}, {2: {"score": 0.5}})


def chart(book: Any) -> None:
    from openpyxl.chart import BarChart

    book.create_chartsheet(index=0).add_chart(BarChart())


def test_a_cell_in_the_last_row_and_a_chart_take_no_room(tmp_path: Path) -> None:
    def more(book: Any) -> None:
        book.active["A1048576"] = "x"
        chart(book)

    sheet = Sheet(saved(tmp_path / "a.xlsx", HEADER, A, then=more))
    assert [row.number for row in sheet.rows] == [2, 1048576]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_is_an_error_alone() -> None:
    """openpyxl's archive stays open if the disk is full, and a traceback follows when Python closes it."""
    with pytest.raises(OSError, match="No space"):
        write_book(Path("/dev/full"), [{"source": "x"}])
