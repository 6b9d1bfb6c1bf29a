"""TSV and CSV as spreadsheets and people write them, and SGM files of the WMT tasks.

A case is its name, the file's name, its bytes, the columns, and the note.
"""

import contextlib
import csv
import gzip
import io
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.basics.errors import InputError
from qe.data.delimited import (
    Dialect,
    Layout,
    check_encoding,
    detect_dialect,
    dialect_of,
    lines_of,
    segments,
    text_lines,
)
from qe.data.format import FORMATS
from qe.data.reading import Reading, read_table, with_points
from qe.data.table_rows import open_input
from tests.factories import prints

PLAIN = {"source": ["a", "c"], "target": ["b", "d"]}
SEMICOLONS = "source;target;score\na, b;c;0,5\nd;e, f;1\n"
SEMICOLON_ROWS = {"source": ["a, b", "d"], "target": ["c", "e, f"], "score": ["0,5", "1"]}
EXCEL = 'source;target;score\nune "bête";"deux ""mots""; oui";0,5\né;"ligne\nligne";1\n'
EXCEL_ROWS = {
    "source": ['une "bête"', "é"],
    "target": ['deux "mots"; oui', "ligne\nligne"],
    "score": ["0,5", "1"],
}
CASES: dict[str, tuple[str, bytes, dict[str, list[str]], str]] = {
    "TSV": ("a.tsv", b"source\ttarget\na\tb\nc\td\n", PLAIN, ""),
    "CSV": ("a.csv", b"source,target\na,b\nc,d\n", PLAIN, ""),
    "line ends of Windows, none after the last": ("a.csv", b"source,target\r\na,b\r\nc,d", PLAIN, ""),
    "byte order mark": ("a.csv", b"\xef\xbb\xbfsource,target\na,b\nc,d\n", PLAIN, ""),
    "semicolons": ("a.csv", SEMICOLONS.encode(), SEMICOLON_ROWS, "delimiter semicolon"),
    "sep=": ("a.csv", b"sep=;\r\n" + SEMICOLONS.encode(), SEMICOLON_ROWS, "delimiter semicolon"),
    "sep=|": ("a.csv", b"sep=|\nsource|target\na|b\nc|d\n", PLAIN, "delimiter pipe"),
    "semicolons, cp1252, quotes": (
        "a.csv",
        EXCEL.encode("cp1252"),
        EXCEL_ROWS,
        "delimiter semicolon, cp1252",
    ),
    "tabs in a CSV": ("a.csv", b"source\ttarget\na\tb\nc\td\n", PLAIN, "delimiter tab"),
    "commas in a TSV": ("a.tsv", b"source,target\na,b\nc,d\n", PLAIN, "delimiter comma"),
    "UTF-16": ("a.tsv", "source\ttarget\na\tb\nc\td\n".encode("utf-16"), PLAIN, "utf-16"),
    "UTF-16, Excel's Unicode text": (
        "a.txt",
        'source\ttarget\n"a ""x"""\tb\nc\td\n'.encode("utf-16"),
        {"source": ['a "x"', "c"], "target": ["b", "d"]},
        "quoted fields, utf-16",
    ),
    "UTF-16 without a mark": ("a.csv", "source,target\na,b\nc,d\n".encode("utf-16-le"), PLAIN, "utf-16-le"),
    "columns once in use": ("a.csv", b"source;target;;\na;b;;\nc;d;;\n", PLAIN, "delimiter semicolon"),
    "quoted, columns once in use": ("a.csv", b'"source","target",""\n"a","b",""\nc,d,\n', PLAIN, ""),
    "gzip": ("a.csv.gz", gzip.compress(SEMICOLONS.encode()), SEMICOLON_ROWS, "delimiter semicolon"),
    "cp1252": (
        "a.tsv",
        "source\ttarget\ncafé\t«b»\n".encode("cp1252"),
        {"source": ["café"], "target": ["«b»"]},
        "cp1252",
    ),
    "quotes and semicolons are text in TSV": (
        "a.tsv",
        b'source\ttarget\n"a"; b\tc "d\n',
        {"source": ['"a"; b'], "target": ['c "d']},
        "",
    ),
    "quotes inside cells of CSV": (
        "a.csv",
        b'source,target\n5" pipe,a "b" c\n',
        {"source": ['5" pipe'], "target": ['a "b" c']},
        "",
    ),
    "tabs and line ends in quoted cells of a TSV, among others": (
        "a.tsv",
        b'source\ttarget\na\tb\n"c\td"\te\nf\t"g\nh"\n' + 60 * b"i\tj\n",
        {"source": ["a", "c\td", "f", *60 * "i"], "target": ["b", "e", "g\nh", *60 * "j"]},
        "quoted fields",
    ),
    "a damaged row does not make quotes": (
        "a.tsv",
        b'source\ttarget\n"a" b\tc\n' + 60 * b"i\tj\n" + b'"d"\t"e\n',
        {"source": ['"a" b', *60 * "i", '"d"'], "target": ["c", *60 * "j", '"e']},
        "",
    ),
    "a line end in a cell, commas in others": (
        "a.csv",
        b'source,target,score\n"a, b","c\nd","0,5"\ne,f,1\n',
        {"source": ["a, b", "e"], "target": ["c\nd", "f"], "score": ["0,5", "1"]},
        "",
    ),
    "unquoted CSV": (
        "a.csv",
        b'source,target\n"a" b,c\nd,"e\n',
        {"source": ['"a" b', "d"], "target": ["c", '"e']},
        "quotes as text",
    ),
    "one column": ("a.csv", b"source\na; b\n", {"source": ["a; b"]}, ""),
    "line ends in cells": (
        "a.csv",
        b'source,target\n"a\r\nb","c\n"\n',
        {"source": ["a\nb"], "target": ["c\n"]},
        "",
    ),
    "a damaged row does not make another delimiter": (
        "a.tsv",
        b"source\ttarget\na, b\tc\nd, e\tf\n",
        {"source": ["a, b", "d, e"], "target": ["c", "f"]},
        "",
    ),
}


def columns(path: Path, reading: Reading, layout: Layout | None = None) -> dict[str, list[str]]:
    return {name: column.texts for name, column in read_table(reading, path, layout).items()}


def as_path(tmp_path: Path, name: str, content: bytes) -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_and_told(case: str, tmp_path: Path) -> None:
    """Both readers: of the table as a whole, and of its rows one by one."""
    name, content, expected, told = CASES[case]
    path = as_path(tmp_path, name, content)
    reading = Reading(path)
    assert columns(path, reading) == expected
    notes = [note for note in reading.notes if "read with" in note]
    assert notes == ([f"{path}: read with {told}"] if told else [])
    rows = [row for row, _ in open_input([path]).rows()]
    assert {column: [row[column] for row in rows] for column in rows[0]} == expected


SAID: dict[str, tuple[bytes, Layout, dict[str, list[str]]]] = {
    "delimiter": (b"a,b;c\nd,e;f\n", Layout("csv", ";"), {"a,b": ["d,e"], "c": ["f"]}),
    "delimiter by name": (b"a,b|c\nd,e|f\n", Layout("csv", "pipe"), {"a,b": ["d,e"], "c": ["f"]}),
    "encoding": (
        "a,b\nщ,d\n".encode("cp1251"),
        Layout("csv", encoding="cp1251"),
        {"a": ["щ"], "b": ["d"]},
    ),
    "no quotes": (b'a,b\n"c","d"\n', Layout("csv", quoting=False), {"a": ['"c"'], "b": ['"d"']}),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_said_holds(case: str, tmp_path: Path) -> None:
    content, layout, expected = SAID[case]
    path = as_path(tmp_path, "a.csv", content)
    assert columns(path, Reading(path), layout) == expected


# Numbers -> what they are with points.
DECIMALS: dict[str, tuple[list[str], str | None, list[str]]] = {
    "points": (["0.5", "1"], None, ["0.5", "1"]),
    "commas": (["0,5", "-1,25", "3"], None, ["0.5", "-1.25", "3"]),
    "commas with blanks": ([" 0,5 ", "1"], None, [" 0.5 ", "1"]),
    "thousands": (["1,234", "2,000"], None, ["1,234", "2,000"]),
    "thousandths and a whole number": (["0,125", "1"], None, ["0.125", "1"]),
    "both": (["0,5", "1.5"], None, ["0,5", "1.5"]),
    "no numbers": (["a, b", "0,5"], None, ["a, b", "0,5"]),
    "said": (["1,234", "1.234,5", "-0,5e-3"], ",", ["1.234", "1234.5", "-0.5e-3"]),
    "said otherwise": (["0,5"], ".", ["0,5"]),
}


@pytest.mark.parametrize("case", DECIMALS)
def test_decimal_signs(case: str) -> None:
    texts, decimal, expected = DECIMALS[case]
    assert with_points(texts, decimal) == expected


FIELD = st.text(st.characters(exclude_characters="\r", exclude_categories=("Cs",)), max_size=12)


Records = list[tuple[str, str, str]]


@pytest.mark.slow
@given(st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=6), st.sampled_from(",;	|"))
def test_quoted_rows_are_what_the_csv_module_writes(records: Records, delimiter: str) -> None:
    buffer = io.StringIO()
    records = [("x", "y", "z"), *records]
    csv.writer(buffer, lineterminator="\n", delimiter=delimiter).writerows(records)
    lines = buffer.getvalue().split("\n")[:-1]
    try:
        read = [tuple(row) for _, row in Dialect("csv", delimiter, True).records(lines, Path("x"))]
    except InputError as error:  # only where a field itself holds lines that look like rows
        assert "would merge" in str(error)
    else:
        assert read == records


@given(st.binary(max_size=200), st.sampled_from(["tsv", "csv"]))
def test_any_bytes_have_a_dialect(content: bytes, kind: str) -> None:
    encodings = ("utf-8", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
    assert detect_dialect(content, kind, Layout()).encoding in encodings


def test_a_quote_that_is_text_and_a_row_that_is_short(tmp_path: Path) -> None:
    """A quote that opens and never closes is text, in a small file, too."""
    path = as_path(tmp_path, "a.tsv", b'source\ttarget\na\t"so\nb\tc\nd\n')
    assert not dialect_of(path, "tsv").quoting


def test_what_damage_leaves_of_the_beginning_is_looked_at(tmp_path: Path) -> None:
    whole = gzip.compress(b"source;target\n" + b"".join(b"a%d;b\n" % n for n in range(20_000)))
    path = as_path(tmp_path, "a.csv.gz", whole[: len(whole) // 2])
    assert dialect_of(path, "csv").delimiter == ";"


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoding", sorted({*aliases.values(), "idna", "punycode", "undefined", "unicode_escape"})
)
def test_every_codec_of_python_reads_or_is_refused(encoding: str, tmp_path: Path) -> None:
    """Text and noise alike: rows, or one message."""
    rng = np.random.default_rng(0)
    for noise in (b"a\tb\n", *(rng.bytes(60) for _ in range(8))):
        (tmp_path / "a.tsv").write_bytes(b"source\ttarget\n" + noise)
        with contextlib.suppress(InputError):
            check_encoding(encoding)
            dialect = dialect_of(tmp_path / "a.tsv", "tsv", Layout(encoding=encoding))
            assert list(dialect.records(text_lines(tmp_path / "a.tsv", dialect.encoding), tmp_path / "a.tsv"))


NO_ENCODING = "is no encoding of text"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (r'"a \"b\", c",d', [['a "b", c', "d"]]),
        ('"a \\"b\nc",d', [['a "b\nc', "d"]]),
        (r'"ends with \\",d', [["ends with \\", "d"]]),
        (r'"a ""b""",\n', [['a "b"', r"\n"]]),
    ],
)
def test_escaped_quotes_are_text(text: str, rows: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"one,two\n{text}\n")
    dialect = dialect_of(path, "csv", Layout(escape="\\"))
    found = [fields for _, fields in dialect.records(text_lines(path), path)]
    assert found == [["one", "two"], *rows]


ESCAPED = 'source,target,score\n"a \\"b\\", c","d \\"e\\" f",0.5\n"x y","z w",0.4\n'
SET = "--set source_language=en --set target_language=de --set columns.scores=score --set label.name=da"
SET += " --set label.higher_is_better=true"
GOLD = "id\tscore\n" + "".join(f"{i}\t0.{i}\n" for i in range(1, 10))
FROM_0 = "id\tscore\n" + "".join(f"{i - 1}\t0.{i}\n" for i in range(1, 10))
GAP = FROM_0.replace("8\t", "9\t")


@pytest.mark.parametrize(
    ("command", "code", "contained", "absent"),
    [
        (f"data check escaped.csv {SET}", 2, "(--escape '\\')", "quoting"),
        (f"data check escaped.csv {SET} --set escape=\\", 0, "quotes escaped by", "not valid CSV"),
        ("evaluate --gold gold.tsv --predictions from_0.tsv --samples 100", 0, "1.000", "has id"),
        ("evaluate --gold gold.tsv --predictions gap.tsv", 2, "segment 1 has id '0', but '1'", "1.000"),
        ("evaluate --gold gold.tsv --predictions nan.tsv", 2, "('NaN'); predict every segment", "no label"),
        ("evaluate --gold gold.tsv --predictions blank.tsv", 2, "missing; predict every segment", "blind"),
        ("evaluate --gold nan.tsv --predictions gold.tsv", 2, "leave out the segments", "predict every"),
    ],
)  # fmt: skip
def test_what_commands_print(
    command: str, code: int, contained: str, absent: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    nan, blank = GOLD.replace("0.4", "NaN"), GOLD.replace("0.4", "")
    files = {"gold": GOLD, "from_0": FROM_0, "gap": GAP, "nan": nan, "blank": blank}
    for name, text in files.items():
        Path(f"{name}.tsv").write_text(text)
    Path("escaped.csv").write_text(ESCAPED)
    prints(command, [contained], [absent], code)


HEAD = '<srcset setid="newstest" srclang="any">\n<doc sysid="src" docid="bbc.1" genre="news" origlang="en">\n'
WHOLE = HEAD + '<p>\n<seg id="1">It rains.</seg>\n<seg id="2">A &amp; b</seg>\n</p>\n</doc>\n</srcset>\n'

# The file -> (text, document) of each segment.
SGM: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "of a task": (WHOLE, [("It rains.", "bbc.1"), ("A & b", "bbc.1")]),
    "capital tags": ("<DOC docid='d'><SEG id=1>a</SEG></DOC>", [("a", "d")]),
    "a declaration first": ('<?xml version="1.0"?>\n<!DOCTYPE mteval>\n<seg id="1">a</seg>', [("a", "")]),
    "a headline": ('<doc docid="d"><hl><seg id="1"> a </seg></hl></doc>', [("a", "d")]),
    "over two lines": ('<seg id="1">a\nb</seg>', [("a b", "")]),
    "entities": ('<seg id="1">&lt;b&gt; &quot;&#39;&#x41; &copy; R&D</seg>', [("<b> \"'A &copy; R&D", "")]),
    "an empty segment": ('<seg id="1"></seg><seg id="2">b</seg>', [("", ""), ("b", "")]),
    "two documents": (
        '<doc docid="a"><seg id="1">x</seg></doc>\n<doc docid="b"><seg id="1">y</seg></doc>',
        [("x", "a"), ("y", "b")],
    ),
    "less than, in text": ('<seg id="1">a < b</seg>', [("a < b", "")]),
}  # fmt: skip


@pytest.mark.parametrize("case", SGM)
def test_segments(case: str, tmp_path: Path) -> None:
    content, expected = SGM[case]
    path = as_path(tmp_path, "a.sgm", content.encode())
    assert [(one.text, one.document) for one in segments(path)] == expected


def test_they_are_read_where_lines_are(tmp_path: Path) -> None:
    """Rows to score, and a split with its documents; plain text stays plain."""
    (tmp_path / "s.sgm.gz").write_bytes(gzip.compress(WHOLE.encode()))
    (tmp_path / "t.de").write_text("<seg id='1'>\nzwei\n")
    rows = [row for row, _ in open_input([tmp_path / "s.sgm.gz", tmp_path / "t.de"]).rows()]
    assert [row["source"] for row in rows] == ["It rains.", "A & b"]
    assert [row["target"] for row in rows] == [*lines_of(tmp_path / "t.de")] == ["<seg id='1'>", "zwei"]
    files = {"train": {"source": "s.sgm.gz", "target": "t.de"}}
    label = {"name": "da", "low": 0, "high": 1, "higher_is_better": True}
    dataset = FORMATS.get("parallel_text")(
        splits=files, label=label, source_language="en", target_language="de"
    ).read(tmp_path)
    segments_read = dataset.splits["train"].segments
    assert [*segments_read.source] == ["It rains.", "A & b"]
    assert segments_read.doc_id is not None and [*segments_read.doc_id] == ["bbc.1", "bbc.1"]
