"""SGM files of the WMT tasks: a way to write them more is a line more."""

import gzip
from pathlib import Path

import pytest

from qe.data.delimited import lines_of, segments
from qe.data.format import FORMATS
from qe.data.table_rows import open_input
from tests.factories import refuses

HEAD = '<srcset setid="newstest" srclang="any">\n<doc sysid="src" docid="bbc.1" genre="news" origlang="en">\n'
WHOLE = HEAD + '<p>\n<seg id="1">It rains.</seg>\n<seg id="2">A &amp; b</seg>\n</p>\n</doc>\n</srcset>\n'

# The file -> (text, document) of each segment, or the words of the refusal.
CASES: dict[str, tuple[str, list[tuple[str, str]] | str]] = {
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
    "no segment": ("a\nb\n", "holds no <seg>"),
    "not closed": ('<seg id="1">a\n<seg id="2">b</seg>', r"a\.sgm:1: a <seg> is not closed"),
    "not closed at the end": ('\n<seg id="1">a\n', r"a\.sgm:2: a <seg> is not closed"),
    "not opened": ("a</seg>", "is not opened"),
    "two systems": (
        '<doc sysid="x"><seg id="1">a</seg></doc><doc sysid="y"><seg id="1">b</seg></doc>',
        "holds 2 systems",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_segments(case: str, tmp_path: Path) -> None:
    content, expected = CASES[case]
    path = tmp_path / "a.sgm"
    path.write_text(content, "utf-8")
    if isinstance(expected, str):
        refuses(expected, segments, path)
    else:
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
