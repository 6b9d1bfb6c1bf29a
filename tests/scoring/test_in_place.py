"""XLIFF, TMX and XLSX: scored in place, and read back by the Translate Toolkit and openpyxl."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from translate.storage import tmx as toolkit_tmx
from translate.storage import xliff as toolkit_xliff

from qe.data.delimited import Layout
from qe.data.table_rows import read_rows
from qe.data.translation_files.segments import TranslationFile
from qe.data.translation_files.xlsx import Sheet
from qe.models.model import Model
from tests.factories import costs_file, exit_code, ran, refuses, score_file, score_in_place

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment  that stays -->
<xliff version="1.2" xmlns='urn:oasis:names:tc:xliff:document:1.2'>
 <file source-language="en-GB" target-language="es" datatype="plaintext" original="a > b.txt">
  <body>
\t<trans-unit id="1"><source>Zdand <g id="1">dro</g> leyn</source>
\t  <target state='translated'>Nawanw <g id="1">nisê</g> yêtatê</target><note>by Ana</note></trans-unit>
   <trans-unit id="2"><source>Ka vlozdark bometh!</source></trans-unit>
   <trans-unit id="3"><source>A &lt;b&gt; <ph id="2">&lt;br/&gt;</ph>&#233;</source><target>Lu yamu</target>
    <alt-trans match-quality="80"><source>other</source><target>otro</target></alt-trans></trans-unit>
  </body></file></xliff>
"""
XLIFF2 = """<?xml version="1.0"?>
<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="es">
<x:file id="f"><x:unit id="u">
  <x:segment id="s1"><x:source>Zdand dro</x:source><x:target>Nawanw nisê</x:target></x:segment>
  <x:ignorable><x:source> </x:source></x:ignorable>
  <x:segment id="s2"><x:source>Ka <x:pc id="1">vlozdark</x:pc></x:source>
  <x:target>Lu yamu</x:target></x:segment>
</x:unit><x:unit id="v"><x:notes><x:note>mine</x:note></x:notes>
  <x:segment><x:source>leyn</x:source><x:target>yêtatê</x:target></x:segment></x:unit></x:file></x:xliff>
"""
TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" datatype="plaintext" segtype="sentence" adminlang="en" o-tmf="x"
 creationtool="t" creationtoolversion="1"/><body>
<tu tuid="7"><prop type="client">a &amp; b</prop>
<tuv xml:lang="ES-mx"><seg>Lu <bpt i="1">&lt;b></bpt>yamu</seg></tuv>
<tuv xml:lang="en"><seg>Ka vlozdark</seg></tuv><tuv xml:lang="de"><seg>egal</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>alone</seg></tuv></tu></body></tmx>
"""


def scored(model: Path, source: Path, overwrite: bool = False) -> tuple[Any, str]:
    output = source.with_stem("scored")
    summary = score_in_place(model, source, output, overwrite=overwrite)
    return summary, output.read_bytes().decode("utf-16" if "utf16" in source.name else "utf-8")


def scores_of(model: Path, pairs: list[tuple[str, str]], marks: bool = False) -> list[str]:
    loaded = Model.load(model)
    segments = loaded.segments({"source": [a for a, _ in pairs], "target": [b for _, b in pairs]})
    scores, seen = loaded.judge(segments, loaded.features(segments))
    assert seen is not None
    marked = [
        f"; outside {share:.3f}; unlike {reason}" if marks and reason else ""
        for share, reason in zip(seen.outside, seen.reasons(), strict=True)
    ]
    return [f"score {value:.3f}{mark}" for value, mark in zip(scores, marked, strict=True)]


@pytest.mark.capability
def test_xliff_is_the_same_but_for_notes(demo_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_bytes(XLIFF.replace("\n", "\r\n").encode())
    summary, text = scored(demo_model, path)
    assert (summary.rows, summary.scored, dict(summary.reasons)) == (3, 2, {"no translation": 1})
    notes = re.findall(r'<note from="qe">(.*?)</note>', text)
    assert re.sub(r'<note from="qe">.*?</note>', "", text) == path.read_bytes().decode()
    expected = [("Zdand dro leyn", "Nawanw nisê yêtatê"), ("A <b> é", "Lu yamu")]
    assert notes == scores_of(demo_model, expected, True)
    store = toolkit_xliff.xlifffile.parsefile(str(tmp_path / "scored.xlf"))
    read = {unit.getid(): unit.getnotes() for unit in store.units}
    assert notes[0] in read["a > b.txt\x041"] and "by Ana" in read["a > b.txt\x041"]
    assert [unit.target for unit in store.units][2] == "Lu yamu"


MARKED = XLIFF.replace('<trans-unit id="1">', '<trans-unit id="1" translate="no">').replace(
    "<target>Lu yamu</target>", '<target state="new">A &lt;b&gt; <ph id="2">&lt;br/&gt;</ph>&#233;</target>'
)


def test_segments_that_need_no_score_get_no_note(demo_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(MARKED, "utf-8")
    summary, text = scored(demo_model, path)
    copy = "not translated yet: a copy of the source, state 'new'"
    assert dict(summary.reasons) == {"not to be translated": 1, copy: 1, "no translation": 1}
    assert (summary.scored, text) == (0, MARKED)
    layout = Layout(locked="score")
    summary = score_in_place(demo_model, path, path.with_stem("all"), layout=layout)
    assert dict(summary.reasons) == {"no translation": 1}
    assert path.with_stem("all").read_text("utf-8").count('<note from="qe">score ') == 2


def test_the_state_of_a_segment_is_kept_in_a_table(demo_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.xlf").write_text(MARKED, "utf-8")
    arguments = ["score", "-m", demo_model, "--locked", "score", "--keep"]
    ran(*arguments, "-i", tmp_path / "a.xlf", "-o", tmp_path / "a.jsonl")
    rows = [row for row, _ in read_rows(tmp_path / "a.jsonl")]
    assert [(row["state"], row["score"] is not None) for row in rows] == [
        ("translate=no, translated", True), ("", False), ("new", True),
    ]  # fmt: skip


WITH_NOTES = XLIFF2.replace('id="u">', 'id="u"><x:notes><x:note>n</x:note></x:notes>')


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.xlf", XLIFF), ("b.xlf", WITH_NOTES), ("c.xlf", XLIFF2), ("d.tmx", TMX.format(encoding="utf-8"))],
)
def test_scoring_again_replaces_the_notes(demo_model: Path, tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    _, once = scored(demo_model, path)
    path.write_bytes(once.encode())
    assert scored(demo_model, path, overwrite=True)[1] == once


def test_xliff_2_has_a_note_for_every_segment_of_a_unit(demo_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.xliff"
    path.write_text(XLIFF2)
    summary, text = scored(demo_model, path)
    assert (summary.rows, summary.scored) == (3, 3)
    pairs = [("Zdand dro", "Nawanw nisê"), ("Ka vlozdark", "Lu yamu"), ("leyn", "yêtatê")]
    first, second, third = scores_of(demo_model, pairs, True)
    notes = re.findall(r'<x:note category="qe">(.*?)</x:note>', text)
    assert notes == [f"s1: {first}", f"s2: {second}", third]
    bare = re.sub(r'<x:note category="qe">.*?</x:note>', "", text).replace("<x:notes></x:notes>", "")
    assert bare == XLIFF2
    assert re.search(r'<x:unit id="u">\s*<x:notes>.*?</x:notes><x:segment id="s1">', text, re.DOTALL)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.capability
def test_tmx_has_a_property_at_the_translation(demo_model: Path, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / f"a.{encoding.replace('-', '')}.tmx"
    path.write_bytes(TMX.format(encoding=encoding).encode(encoding))
    summary, text = scored(demo_model, path)
    assert (summary.rows, summary.scored) == (2, 1)
    assert re.sub(r'<prop type="x-qe">.*?</prop>', "", text) == TMX.format(encoding=encoding)
    (score,) = scores_of(demo_model, [("Ka vlozdark", "Lu yamu")], True)
    assert f'<prop type="x-qe">{score}</prop><seg>Lu' in text
    if encoding == "utf-8":
        path.write_text(text)
        assert len(toolkit_tmx.tmxfile.parsefile(str(path)).units) == 2


@pytest.mark.capability
def test_xlsx_gets_columns_and_keeps_the_others(demo_model: Path, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Nr", "en", "es", "price"], [1, "Ka vlozdark", "Lu yamu", 2.5], [2, "Zdand", None, 3]):
        sheet.append(row)
    sheet["D2"].number_format = "0.00"
    book.create_sheet("other").append(["x"])
    path = tmp_path / "a.xlsx"
    book.save(path)
    columns = {"source": "en", "target": "es"}
    score_in_place(demo_model, path, path.with_stem("scored"), columns=columns)
    made = openpyxl.load_workbook(path.with_stem("scored"))
    rows = [list(row) for row in made.worksheets[0].values]
    assert rows[0] == ["Nr", "en", "es", "price", "score", "reason"]
    (score,) = scores_of(demo_model, [("Ka vlozdark", "Lu yamu")])
    assert rows[1][:4] == [1, "Ka vlozdark", "Lu yamu", 2.5] and f"score {rows[1][4]:.3f}" == score
    assert rows[2][4] is None and rows[2][5]
    assert made.worksheets[0]["D2"].number_format == "0.00" and made.sheetnames[1] == "other"
    again = path.with_stem("again")
    scored_once = path.with_stem("scored")
    refuses("column 'score'.*--suffix _qe", score_in_place, demo_model, scored_once, again, columns=columns)
    assert not again.exists()
    score_in_place(demo_model, scored_once, again, columns=columns, suffix="_2")
    header = [cell.value for cell in openpyxl.load_workbook(again).worksheets[0][1]]
    assert header == ["Nr", "en", "es", "price", "score", "reason", "score_2", "reason_2"]


def test_the_command_line_scores_them(demo_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(XLIFF, "utf-8")
    common = ["score", "--model", demo_model, "--input", path, "--output"]
    assert "2 of 3 rows scored" in ran(*common, tmp_path / "b.xlf", "--interval", "0.9", "--flags").out
    note = r'<note from="qe">score \d\.\d{3}; low .*; high '
    assert re.search(note, (tmp_path / "b.xlf").read_text("utf-8"))


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet", "tsv.gz"])
def test_a_table_of_scores(demo_model: Path, tmp_path: Path, kind: str) -> None:
    path, output = tmp_path / "a.xlf", tmp_path / f"b.{kind}"
    path.write_text(XLIFF, "utf-8")
    assert score_file(demo_model, [path], output, keep=True, workers=1).scored == 2
    rows = [row for row, _ in read_rows(output)]
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert [row["target"] or "" for row in rows] == ["Nawanw nisê yêtatê", "", "Lu yamu"]
    assert [row["note"] for row in rows] == ["by Ana", "", ""]
    assert [row["reason"] for row in rows] == ["", "no translation", ""]
    expected = scores_of(demo_model, [("Zdand dro leyn", "Nawanw nisê yêtatê"), ("A <b> é", "Lu yamu")])
    assert [f"score {float(row['score']):.3f}" for row in rows if row["score"]] == expected


def test_cells_that_a_spreadsheet_would_take_for_formulas(demo_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.xlf").write_text(XLIFF.replace("Lu yamu<", "=Lu yamu<"), "utf-8")
    for safe, expected in ((False, "=Lu yamu"), (True, "'=Lu yamu")):
        score_file(
            demo_model, [tmp_path / "a.xlf"], tmp_path / f"{safe}.csv", keep=True, safe_cells=safe, workers=1
        )
        rows = [row for row, _ in read_rows(tmp_path / f"{safe}.csv")]
        assert rows[2]["target"] == expected and float(rows[2]["score"])


@pytest.mark.parametrize(("name", "content"), [("a.xlf", XLIFF), ("b.tmx", TMX.format(encoding="utf-8"))])
def test_a_workbook_for_reviewers(demo_model: Path, tmp_path: Path, name: str, content: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / name).write_text(content.replace("Lu yamu", "=Lu yamu"), "utf-8")
    costs_file(tmp_path)
    files = ("-i", tmp_path / name, "-o", tmp_path / "review.xlsx", "--triage", tmp_path / "costs.yaml")
    assert exit_code("score", "-m", demo_model, *files, "--flags", "--quiet") == 0
    assert (
        exit_code("score", "-m", demo_model, "-i", tmp_path / name, "-o", tmp_path / "x.jsonl", "--keep") == 0
    )
    expected = [row for row, _ in read_rows(tmp_path / "x.jsonl")]
    sheet = openpyxl.load_workbook(tmp_path / "review.xlsx").active
    header, *lines = sheet.iter_rows()
    names = [cell.value for cell in header]
    assert {"id", "source", "target", "score", "action", "flags", "reason"} <= {*names}
    assert ("state" in names) == (name == "a.xlf")
    rows = [{key: cell.value for key, cell in zip(names, line, strict=True)} for line in lines]
    for key in ("id", "source", "target", "score"):
        assert [row[key] or "" for row in rows] == [row[key] or "" for row in expected]
    assert all(cell.data_type != "f" for line in lines for cell in line)
    assert sheet.freeze_panes == "A2" and sheet.auto_filter.ref == sheet.dimensions


UNITS = """<unit id="u"><segment id="1"><source>a b</source></segment><segment id="2"><source>c</source>
<target>d]]&gt;</target></segment><segment id="3"><source>e</source></segment></unit>
<unit id="v"><notes/><segment><source>a</source><target/></segment></unit>
<unit id="w"><notes><note>x<!-- </notes> --></note></notes><segment><source>a</source>
<target><![CDATA[</target>]]></target></segment></unit>"""
FIRST = """<xliff version="1.2"><file source-language="en" target-language="es"><body>
<trans-unit id="1"><source>a</source><target>{}</target><note/></trans-unit></body></file></xliff>"""
SECOND = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="es">
<file id="f">{}</file></xliff>"""
NASTY = {  # what earlier versions wrote no XML for, or other texts
    "utf-8": SECOND.format(UNITS),
    "utf-16-le": '<?xml version="1.0" encoding="UTF-16"?>' + FIRST.format("\U0001f600 &#x10FFFF;"),
    "gbk": '<?xml version="1.0" encoding="GBK"?>' + FIRST.format("\u4e2d\u6587"),
}


@pytest.mark.parametrize("encoding", NASTY)
def test_what_is_written_is_the_same_texts_for_another_reader(
    encoding: str, demo_model: Path, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.xlf", tmp_path / "out.xlf"
    source.write_bytes(NASTY[encoding].encode(encoding))
    score_in_place(demo_model, source, output)

    def texts(path: Path) -> list[str]:
        root = ElementTree.fromstring(re.sub(r"^<\?.*?\?>", "", path.read_bytes().decode(encoding)))
        return [
            "".join(e.itertext()) for e in root.iter() if e.tag.rpartition("}")[2] in ("source", "target")
        ]

    assert texts(output) == texts(source) and b"score" in output.read_bytes().replace(b"\0", b"")


@pytest.mark.parametrize("wrong", ["<note>", "</trans-unit>", "<note>&nbsp;</note>", "\0"])
def test_a_file_that_would_not_be_the_same_replaces_nothing(
    wrong: str, demo_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in writing: what stood there before stays."""
    source, output = tmp_path / "in.xlf", tmp_path / "out.xlf"
    source.write_text(XLIFF, "utf-8")
    output.write_text("before", "utf-8")
    monkeypatch.setattr(TranslationFile, "with_notes", damaging(TranslationFile.with_notes, wrong))
    refuses(r"in\.xlf: .*in place: .*; .*a table", score_in_place, demo_model, source, output, overwrite=True)
    assert output.read_text() == "before" and sorted(tmp_path.iterdir()) == [source, output]


def damaging(write: Any, wrong: str) -> Any:
    return lambda *arguments: write(*arguments).replace(b"</target>", f"</target>{wrong}".encode(), 1)


def test_a_workbook_that_would_not_be_the_same_replaces_nothing(
    demo_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "in.xlsx", tmp_path / "out.xlsx"
    workbook(source, [["source", "target"], ["a b", "c d"], ["=A2", "e"]])
    output.write_text("before", "utf-8")
    other = [["source", "target"], ["a", "c d"], ["", "e"]]
    for spoil in (lambda _, path: path.write_bytes(b"PK"), lambda _, path: workbook(path, other)):
        monkeypatch.setattr(Sheet, "save", spoil)
        refuses(r"in\.xlsx: .*in place", score_in_place, demo_model, source, output, overwrite=True)
        assert output.read_text() == "before"


def workbook(path: Path, rows: list[list[str]]) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
