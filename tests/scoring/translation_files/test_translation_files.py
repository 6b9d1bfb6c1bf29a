"""XLIFF, TMX and XLSX: scored in place, and read back by the Translate Toolkit and openpyxl."""

import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from translate.storage import tmx as toolkit_tmx
from translate.storage import xliff as toolkit_xliff

from features.basics.errors import InputError
from qe.cli import main
from qe.models.model import Model
from qe.scoring.translation_files.job import score_translations

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


def scored(model: Path, source: Path, **options: Any) -> tuple[Any, str]:
    output = source.with_stem("scored")
    summary = score_translations(model, source, output, **options)
    return summary, output.read_bytes().decode("utf-16" if "utf16" in source.name else "utf-8")


def scores_of(model: Path, pairs: list[tuple[str, str]]) -> list[str]:
    loaded = Model.load(model)
    texts = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}
    return [f"score {value:.3f}" for value in loaded.predict(loaded.segments(texts))]


def test_xliff_is_the_same_but_for_notes(demo_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_bytes(XLIFF.replace("\n", "\r\n").encode())
    summary, text = scored(demo_model, path)
    assert (summary.rows, summary.scored, dict(summary.reasons)) == (3, 2, {"no translation": 1})
    notes = re.findall(r'<note from="qe">(.*?)</note>', text)
    assert re.sub(r'<note from="qe">.*?</note>', "", text) == path.read_bytes().decode()
    expected = [("Zdand dro leyn", "Nawanw nisê yêtatê"), ("A <b> é", "Lu yamu")]
    assert notes == scores_of(demo_model, expected)
    store = toolkit_xliff.xlifffile.parsefile(str(tmp_path / "scored.xlf"))
    read = {unit.getid(): unit.getnotes() for unit in store.units}
    assert notes[0] in read["a > b.txt\x041"] and "by Ana" in read["a > b.txt\x041"]
    assert [unit.target for unit in store.units][2] == "Lu yamu"


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
    first, second, third = scores_of(demo_model, pairs)
    notes = re.findall(r'<x:note category="qe">(.*?)</x:note>', text)
    assert notes == [f"s1: {first}", f"s2: {second}", third]
    bare = re.sub(r'<x:note category="qe">.*?</x:note>', "", text).replace("<x:notes></x:notes>", "")
    assert bare == XLIFF2
    assert re.search(r'<x:unit id="u">\s*<x:notes>.*?</x:notes><x:segment id="s1">', text, re.DOTALL)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tmx_has_a_property_at_the_translation(demo_model: Path, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / f"a.{encoding.replace('-', '')}.tmx"
    path.write_bytes(TMX.format(encoding=encoding).encode(encoding))
    summary, text = scored(demo_model, path)
    assert (summary.rows, summary.scored) == (2, 1)
    assert re.sub(r'<prop type="x-qe">.*?</prop>', "", text) == TMX.format(encoding=encoding)
    (score,) = scores_of(demo_model, [("Ka vlozdark", "Lu yamu")])
    assert f'<prop type="x-qe">{score}</prop><seg>Lu' in text
    if encoding == "utf-8":
        path.write_text(text)
        assert len(toolkit_tmx.tmxfile.parsefile(str(path)).units) == 2


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
    for _ in range(2):  # again: the columns are written anew
        score_translations(
            demo_model,
            path,
            path.with_stem("scored"),
            columns={"source": "en", "target": "es"},
            overwrite=True,
        )
    made = openpyxl.load_workbook(path.with_stem("scored"))
    rows = [list(row) for row in made.worksheets[0].values]
    assert rows[0] == ["Nr", "en", "es", "price", "score", "reason"]
    (score,) = scores_of(demo_model, [("Ka vlozdark", "Lu yamu")])
    assert rows[1][:4] == [1, "Ka vlozdark", "Lu yamu", 2.5] and f"score {rows[1][4]:.3f}" == score
    assert rows[2][4] is None and rows[2][5]
    assert made.worksheets[0]["D2"].number_format == "0.00" and made.sheetnames[1] == "other"


BOMB = """<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>&b;</seg></tuv></tu></body></tmx>"""
OUTER = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///x">]><tmx version="1.4">&a;</tmx>'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tmx", BOMB, "declares the entity 'a'.*entities are not expanded"),
        ("a.tmx", OUTER, "declares the entity 'a'"),
        ("a.tmx", "<tmx><body></tmx>", r"a\.tmx:1:\d+: not well-formed XML \(mismatched tag"),
        ("a.xlf", "<html/>", "is no XLIFF file"),
        ("a.xlf", '<xliff version="3.7"/>', "version '3.7' is not known; known: 1.2, 2.0, 2.1"),
        ("a.xlf", XLIFF.replace("en-GB", "fr"), "is from fr to es, but the model from en to es"),
        ("a.tmx", '<?xml version="1.0" encoding="klingon"?><tmx/>', "the encoding 'klingon' is not known"),
        ("a.xlsx", "no workbook", "not an XLSX file"),
    ],
)
def test_what_cannot_be_read_is_one_message(
    demo_model: Path, tmp_path: Path, name: str, content: str, message: str
) -> None:
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        score_translations(demo_model, path, path.with_stem("scored"))
    assert not path.with_stem("scored").exists()


def test_a_workbook_that_unpacks_to_too_much_is_refused(
    demo_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl")
    monkeypatch.setattr("qe.scoring.translation_files.xlsx._LONGEST", 1000)
    with ZipFile(tmp_path / "a.xlsx", "w") as parts:
        parts.writestr("xl/workbook.xml", " " * 2000)
    with pytest.raises(InputError, match="unpacks to more than"):
        score_translations(demo_model, tmp_path / "a.xlsx", tmp_path / "b.xlsx")


def test_the_command_line_scores_them_and_refuses_options_of_tables(
    demo_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(XLIFF, "utf-8")
    common = ["score", "--model", str(demo_model), "--input", str(path), "--output"]
    with pytest.raises(SystemExit) as ended:
        main([*common, str(tmp_path / "b.xlf"), "--interval", "0.9", "--flags"])
    assert ended.value.code == 0 and "2 of 3 rows scored" in capsys.readouterr().out
    assert re.search(
        r'<note from="qe">score \d\.\d{3}; low .*; high ', (tmp_path / "b.xlf").read_text("utf-8")
    )
    for output, option, message in (
        ("c.xlf", "--keep", "--keep is for tables"),
        ("c.tsv", "--quiet", "a file of xliff is scored into one of xliff"),
        ("b.xlf", "--quiet", "is there already"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*common, str(tmp_path / output), option])
        assert ended.value.code == 2 and message in capsys.readouterr().err
