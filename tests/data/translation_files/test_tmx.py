"""TMX as translation tools write it: each case is a unit and the segments that are to be read.

A case more is a line more: its name, what stands in `<body>`, and (id, source, target).
"""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from translate.storage import tmx as toolkit_tmx

from qe.data.translation_files import tmx
from qe.data.translation_files.segments import Languages

FRAME = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"{}>'
    '<header srclang="{}" datatype="plaintext" segtype="sentence" adminlang="en" o-tmf="x" creationtool="t"'
    ' creationtoolversion="1"/>\n<body>{}</body></tmx>'
)


def tuv(language: str, text: str, name: str = "xml:lang", before: str = "") -> str:
    return f'<tuv {name}="{language}">{before}<seg>{text}</seg></tuv>'


CODES = "a<bpt i='1'>&lt;b></bpt>b<ept i='1'/>c<ut>x</ut><it pos='begin'>y</it>"
BREAK = "a<ph type='lb'/>b"
EN, ES, MX, DE = tuv("en", "A"), tuv("es-ES", "B"), tuv("es-MX", "C"), tuv("de", "D")
UNITS = {
    "plain": (f'<tu tuid="7">{EN}{ES}</tu>', [("7", "A", "B")]),
    "without an id": (f"<tu>{EN}{ES}</tu><tu>{ES}{EN}</tu>", [("1", "A", "B"), ("2", "A", "B")]),
    "several variants": (
        f'<tu tuid="7">{DE}{EN}{ES}{MX}</tu>',
        [("7/es-ES", "A", "B"), ("7/es-MX", "A", "C")],
    ),
    "two of one variant": (
        f'<tu tuid="7">{EN}{ES}{ES}</tu>',
        [("7/es-ES", "A", "B"), ("7/es-ES/2", "A", "B")],
    ),
    "Trados: regions in capitals": (f"<tu>{tuv('EN-US', 'A')}{tuv('ES-ES', 'B')}</tu>", [("1", "A", "B")]),
    "no translation": (f"<tu>{EN}{DE}</tu><tu>{EN}{ES}</tu>", [("1", "A", ""), ("2", "A", "B")]),
    "no source": (f"<tu>{ES}{DE}</tu><tu>{EN}{ES}</tu>", [("1", "", "B"), ("2", "A", "B")]),
    "of two sources the one of the header": (
        f"<tu>{tuv('en-GB', 'X')}{tuv('en-US', 'A')}{ES}</tu>",
        [("1", "A", "B")],
    ),
    "of two sources the one of the unit": (
        f"<tu srclang='en-GB'>{tuv('en-US', 'X')}{tuv('en-GB', 'A')}{ES}</tu>",
        [("1", "A", "B")],
    ),
    "codes": (f"<tu>{EN}{tuv('es', CODES)}</tu>", [("1", "A", "abc")]),
    "highlighted text, sub": (
        f"<tu>{EN}{tuv('es', 'a<hi>b</hi>c<ph>&lt;i alt=<sub>d</sub>></ph>')}</tu>",
        [("1", "A", "abc")],
    ),
    "line break": (f"<tu>{EN}{tuv('es', BREAK)}</tu>", [("1", "A", "a b")]),
    "of another namespace": (
        f"<tu>{EN}{ES}<x:tuv xmlns:x='x' xml:lang='es'><seg>D</seg></x:tuv></tu>",
        [("1", "A", "B")],
    ),
}
LANGUAGES = Languages("en", "es")


def read(tmp_path: Path, body: str, languages: Languages = LANGUAGES, root: str = "") -> tmx.TranslationFile:
    path = tmp_path / "a.tmx"
    path.write_text(FRAME.format(root, "en-US", body), "utf-8")
    return tmx.read(path, languages)


def pairs(file: tmx.TranslationFile) -> list[tuple[str, str, str]]:
    return [(segment.id, segment.source, segment.target) for segment in file.segments]


@pytest.mark.parametrize("name", UNITS)
def test_segments(name: str, tmp_path: Path) -> None:
    body, expected = UNITS[name]
    assert pairs(read(tmp_path, body)) == expected


def test_a_namespace_of_its_own(tmp_path: Path) -> None:
    file = read(tmp_path, f"<tu>{EN}{ES}</tu>", root=' xmlns="http://www.lisa.org/tmx20"')
    assert pairs(file) == [("1", "A", "B")]


def test_a_property_at_every_variant_and_none_of_an_earlier_scoring(tmp_path: Path) -> None:
    old = '<prop type="x-qe">score 1.0</prop>'
    first = tuv("es-ES", "B", before=f'<note>n</note><prop type="x-client">c</prop>{old}')
    file = read(tmp_path, f"<tu><prop type='x-qe'>theirs</prop>{EN}{first}{MX}</tu>")
    text = file.with_notes(["score 3.1", None]).decode()
    assert text.count("x-qe") == 2
    assert '<prop type="x-client">c</prop><prop type="x-qe">score 3.1</prop><seg>B</seg>' in text
    ET.fromstring(text)
    (tmp_path / "b.tmx").write_text(text, "utf-8")
    assert len(toolkit_tmx.tmxfile.parsefile(str(tmp_path / "b.tmx")).units) == 1
    assert tmx.read(tmp_path / "b.tmx", LANGUAGES).rows[0].texts["prop:x-qe"] == "3.1"


def test_properties_and_notes_are_columns(tmp_path: Path) -> None:
    before = "<note>good</note><prop type='x-score'>4.5</prop>"
    (row,) = read(tmp_path, f"<tu><prop type='client'>c</prop>{EN}{tuv('es', 'B', before=before)}</tu>").rows
    expected = {"id": "1", "source": "A", "target": "B", "prop:client": "c", "note": "good"}
    assert row.texts == expected | {"prop:x-score": "4.5"}


def test_a_language_by_the_name_that_the_file_has_for_it(tmp_path: Path) -> None:
    body = f"<tu>{EN}{tuv('xx', 'B')}{MX}</tu>"
    assert pairs(read(tmp_path, body, Languages("en", "es", {"target": "xx"}))) == [("1", "A", "B")]
    assert pairs(read(tmp_path, body, Languages("en", "es", {"target": "es-mx"}))) == [("1", "A", "C")]
