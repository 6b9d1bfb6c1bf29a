"""XLIFF as translation tools write it: each case is a file's content and the segments that are to be read.

A case more is a line more: its name, what stands in the `<file>` of XLIFF 1.2 or 2, and (id, source, target).
"""

import gzip
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from translate.storage import xliff as toolkit_xliff

from qe.data.table_rows import FileInput, Layout, Sheet, TranslationFile
from qe.data.translation_files import xliff
from qe.data.translation_files.segments import Languages

EN_ES = ("en", "es")
READ = Layout(languages=EN_ES)
ONE = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:mq="MQXliff" '
    'xmlns:m="http://www.memsource.com/mxlf/2.0" xmlns:its="http://www.w3.org/2005/11/its" '
    'xmlns:okp="okapi-framework:xliff-extensions" xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" '
    'xmlns:s="http://x/smartling" its:version="2.0" m:version="2.4" sdl:version="1.0">\n'
    '<file original="a" source-language="en" target-language="es" datatype="x" m:task-id="x">{}</file>\n'
    "</xliff>"
)
TWO = (
    '<?xml version="1.0"?>\n<xliff version="2.1" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" '
    'trgLang="es" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0" xmlns:its="http://www.w3.org/2005/11/its" '
    'xmlns:ctr="urn:oasis:names:tc:xliff:changetracking:2.0" its:version="2.0"><file id="f">{}</file></xliff>'
)
OLD = "<source>old</source><target>viejo</target>"
AB = "<source>A</source><target>B</target>"
CD = "<source>C</source><target>D</target>"
MARKED = (
    '<source>A. C.</source><seg-source><mrk mtype="seg" mid="{}">A.</mrk> '
    '<mrk mtype="seg" mid="{}">C.</mrk></seg-source>'
    '<target><mrk mtype="seg" mid="{}">B.</mrk> <mrk mtype="seg" mid="{}"{}</target>'
)


def inner(content: str, attributes: str = "") -> str:
    return f'<trans-unit id="1" {attributes}>{content}</trans-unit>'


def unit(content: str, attributes: str = "") -> str:
    return f"<body>{inner(content, attributes)}</body>"


def target(content: str) -> str:
    return unit(f"<source>A</source><target>{content}</target>")


CONFIRMED = inner(AB, 'm:confirmed="1" m:level-edited="true"')
# What surrounds the texts of a trans-unit: only its own source and target count.
ONE_SEGMENT = {
    "plain": unit(AB),
    "memoQ: minor versions before": unit(
        f"<mq:minorversions><mq:historical-unit>{OLD}</mq:historical-unit></mq:minorversions>{AB}"
    ),
    "memoQ: unit in a minor version": unit(
        f'{AB}<mq:minorversion><trans-unit id="9">{OLD}</trans-unit></mq:minorversion>'
    ),
    "memoQ: locked": unit(AB, 'translate="no" mq:locked="locked"'),
    "Phrase: metadata": f'<body><group id="0" m:para-id="0"><context-group/>{CONFIRMED}</group></body>',
    "Phrase: suggestions": unit(
        f'{AB}<alt-trans origin="machine-trans">{OLD}</alt-trans><m:tunit-metadata/>'
    ),
    "Smartling: own elements and attributes": unit(
        f"<s:source>x</s:source>{AB}<s:target>y</s:target>", 's:state="no" s:translate="no"'
    ),
    "binary units": f'<body><group><bin-unit id="b"><bin-source/>{inner(AB)}</bin-unit></group></body>',
    "source of an alt-trans before its own": unit(f"<alt-trans>{OLD}</alt-trans>{AB}"),
}
UNITS_1 = {
    **{name: (content, [("1", "A", "B")]) for name, content in ONE_SEGMENT.items()},
    "memoQ: inserted match, empty": (
        unit(f"<source>A</source><target/><mq:insertedmatch>{OLD}</mq:insertedmatch>"),
        [("1", "A", "")],
    ),
    "Okapi: marks in the target alone": (
        unit(
            '<source xml:lang="en">A</source><target xml:lang="es"><mrk mid="0" mtype="seg">B</mrk></target>'
        ),
        [("1/0", "A", "B")],
    ),
    "Okapi: marked source, whole target": (
        unit(
            '<source>A. C.</source><seg-source><mrk mid="0" mtype="seg">A.</mrk> '
            '<mrk mid="1" mtype="seg">C.</mrk></seg-source><target>B. D.</target>'
        ),
        [("1", "A. C.", "B. D.")],
    ),
    "foreign wrapper around a unit": (f"<body><mq:history>{inner(OLD)}</mq:history></body>", []),
    "no source": (unit("<target>B</target>"), [("1", "", "B")]),
    "blank target": (unit("<source>A</source><target> \n </target>"), [("1", "A", "")]),
}
# Marks of segments.
SEGMENTS_1 = {
    "two": (unit(MARKED.format(1, 2, 1, 2, ">D.</mrk>")), [("1/1", "A.", "B."), ("1/2", "C.", "D.")]),
    "the last not translated": (
        unit(MARKED.format(7, 8, 7, 8, "/>")),
        [("1/7", "A.", "B."), ("1/8", "C.", "")],
    ),
    "the first alone translated": (
        unit(MARKED.format(1, 2, 1, "", "/>").replace(' <mrk mtype="seg" mid=""/>', "")),
        [("1/1", "A.", "B."), ("1/2", "C.", "")],
    ),
    "another order": (
        unit(MARKED.format(1, 2, 2, 1, ">D.</mrk>")),
        [("1/1", "A.", "D."), ("1/2", "C.", "B.")],
    ),
    "in other tags": (
        unit(
            '<source>A</source><seg-source><g id="1"><mrk mtype="seg" mid="1">A</mrk></g></seg-source>'
            '<target><g id="1"><mrk mtype="x-sdl-comment"><mrk mtype="seg" mid="1">B</mrk></mrk></g></target>'
        ),
        [("1/1", "A", "B")],
    ),
    "marks of other kinds inside": (
        unit(
            '<source>A</source><seg-source><mrk mtype="seg" mid="1"><mrk mtype="term">A</mrk></mrk>'
            "</seg-source>"
            '<target><mrk mtype="seg" mid="1">B <mrk mtype="x-sdl-location" mid="2"/>c</mrk></target>'
        ),
        [("1/1", "A", "B c")],
    ),
    "without ids": (
        unit(
            '<source>AC</source><seg-source><mrk mtype="seg">A</mrk><mrk mtype="seg">C</mrk></seg-source>'
            '<target><mrk mtype="seg">B</mrk><mrk mtype="seg">D</mrk></target>'
        ),
        [("1/1", "A", "B"), ("1/2", "C", "D")],
    ),
    "the whole translation deleted": (
        unit(
            '<source>A</source><seg-source><mrk mtype="seg" mid="1">A</mrk></seg-source><target>'
            '<mrk mtype="seg" mid="1"><mrk mtype="x-sdl-deleted">B</mrk></mrk></target>'
        ),
        [("1/1", "A", "")],
    ),
}
# What a target's content is as text.
TEXTS_1 = {
    "pairs of tags": ('foo<g id="1">bar</g>', "foobar"),
    "codes": ("fo<bpt id='1'>&lt;b></bpt>o<ept id='1'>&lt;/b></ept>bar<x id='2'/>", "foobar"),
    "sub of a code": ('foo<ph id="1">&lt;img alt="<sub>text</sub>"/></ph>bar', "foobar"),
    "line break by its kind": ("foo<x id='1' ctype='lb'/>bar", "foo bar"),
    "line break by its name in HTML": ("foo<x id='1' ctype='x-html-br'/>bar", "foo bar"),
    "line break by its code": ("foo<ph id='1'>&lt;br/></ph>bar", "foo bar"),
    "cell by its code": ("foo<ept id='1'>&lt;/td></ept>bar", "foo bar"),
    "tab": ("foo<ph id='1'>\t</ph>bar", "foo bar"),
    "blank that a placeholder stands for": ("foo<x id='1' equiv-text=' '/>bar", "foo bar"),
    "break beside blanks": ("foo <x id='1' ctype='lb'/> bar", "foo bar"),
    "lines of the file": ("\n   foo\n   bar\n", "foo bar"),
    "no-break space": ("foo\u00a0bar", "foo\u00a0bar"),
    "cdata": ("<![CDATA[a < b]]>c", "a < bc"),
    "comments of XML": ("foo<!-- no -->bar<?pi no?>", "foobar"),
    "Trados: deleted and added": (
        'a <mrk mtype="x-sdl-deleted">b</mrk><mrk mtype="x-sdl-added">c</mrk>',
        "a c",
    ),
    "Trados: deleted in a tag, with a tag": (
        '<g id="1">a<mrk mtype="x-sdl-deleted">b<g id="2">c</g></mrk></g>d',
        "ad",
    ),
    "Trados: added and then deleted": (
        'a<mrk mtype="x-sdl-added">b<mrk mtype="x-sdl-deleted">c</mrk></mrk>',
        "ab",
    ),
    "Trados: comment": ('a <mrk mtype="x-sdl-comment" sdl:cid="1">b</mrk>', "a b"),
    "memoQ: tracked": (
        'a <mrk mtype="x-mq-tc" mq:tctype="del">b</mrk><mrk mtype="x-mq-tc" mq:tctype="ins">c</mrk>',
        "a c",
    ),
    "another tool's deletion": ('a<mrk mtype="x-acme-deleted">b</mrk>', "a"),
    "ours in another namespace": ("a<mq:g>b</mq:g><sdl:mrk>c</sdl:mrk>d", "ad"),
}
UNITS_2 = {
    "two segments and what is between": (
        f'<unit id="u"><segment id="s1">{AB}</segment><ignorable><source> </source></ignorable>'
        "<segment><source>C</source><target>D</target></segment></unit>",
        [("u/s1", "A", "B"), ("u/2", "C", "D")],
    ),
    "ids that are numbers of others": (
        f'<unit id="u"><segment id="2">{AB}</segment><segment>{CD}</segment></unit>',
        [("u/2", "A", "B"), ("u/3", "C", "D")],
    ),
    "an id twice": (
        f'<unit id="u"><segment id="s">{AB}</segment><segment id="s">{CD}</segment></unit>',
        [("u/s", "A", "B"), ("u/2", "C", "D")],
    ),
    "matches": (
        f'<unit id="u"><mtc:matches><mtc:match ref="#s">{OLD}</mtc:match></mtc:matches>'
        f'<segment id="s">{AB}</segment></unit>',
        [("u/s", "A", "B")],
    ),
    "revisions": (
        f'<unit id="u"><ctr:changeTrack><ctr:revisions><unit id="x"><segment>{OLD}</segment></unit>'
        f'</ctr:revisions></ctr:changeTrack><segment id="s">{AB}</segment></unit>',
        [("u/s", "A", "B")],
    ),
    "groups": (
        f'<group id="g"><unit id="u"><segment id="s">{AB}</segment></unit></group>',
        [("u/s", "A", "B")],
    ),
}
TEXTS_2 = {
    "pc, mrk": ('fo<pc id="1">o<mrk id="m" type="term">b</mrk></pc>ar', "foobar"),
    "codes": ('foo<sc id="1"/>bar<ec startRef="1"/><ph id="2"/><cp hex="001B"/>', "foobar"),
    "line break": ('foo<ph id="1" type="fmt" subType="xlf:lb"/>bar', "foo bar"),
    "line break shown": ('foo<ph id="1" disp="&lt;br/>"/>bar', "foo bar"),
    "line break in the original": ('foo<ph id="1" dataRef="d1"/>bar', "foo bar"),
    "bold in the original": ('foo<ph id="1" dataRef="d2"/>bar', "foobar"),
    "deleted": ('a<mrk id="1" type="x:deleted">b</mrk>c', "ac"),
    "deleted from a mark to another": (
        'a<sm id="1" type="x:deleted"/>b<pc id="2">c<em startRef="1"/>d</pc>',
        "ad",
    ),
}


# A target's text in a file of Phrase: its tags are part of the text.
PHRASE = {
    "one alone": ("foo {1}bar", "foo bar"),
    "a pair": ("{b&gt;foo&lt;b} bar", "foo bar"),
    "a pair with a number": ("{1&gt;foo&lt;1}bar", "foobar"),
    "one in the other": ("{1&gt;{i&gt;foo{2}&lt;i} bar&lt;1}", "foo bar"),
    "one side alone": ("{12&gt;foo bar", "foo bar"),
    "beside tags of XML": ('{1}<g id="1">fo{2}o</g>bar', "foobar"),
    "joined segments": ("foo. {j}bar", "foo. bar"),
    "the code of a line break": ("foo{3}bar", "foo bar"),
    "the code of bold": ("foo{4}bar", "foobar"),
    "in pieces of the parser": ("foo " + "a" * 8188 + "{1}" + "a" * 8190 + "{b&gt;b", f"foo {'a' * 16378}b"),
    "in CDATA": ("<![CDATA[{b>foo<b} bar{1}]]>", "foo bar"),
    "braces that are text": ("{foo} {a b&gt; {} a&lt;b {0}", "{foo} {a b> {} a<b {0}"),
}
PHRASE_CODES = (
    '<m:tunit-metadata><m:mark id="3"><m:type>code</m:type><m:content>&lt;br/&gt;</m:content></m:mark>'
    '<m:mark id="4"><m:content>&lt;b&gt;</m:content></m:mark></m:tunit-metadata>'
)
NEVER, LOCKED = "not to be translated", "locked"
COPY = "<source>A b</source><target{}>A b</target>"
SDL_SEGMENTS = MARKED.format(1, 2, 1, 2, ">D.</mrk>") + (
    '<sdl:seg-defs><sdl:seg id="1" conf="ApprovedTranslation" locked="true"/><sdl:seg id="2" conf="Draft"/>'
    "</sdl:seg-defs>"
)


def group(content: str, attributes: str) -> str:
    return f"<body><group {attributes}>{content}</group></body>"


def copied(state: str) -> str:
    return f"not translated yet: a copy of the source, state '{state}'"


# What marks a segment -> the reasons that its segments have no score, and their states.
STATES_1 = {
    "nothing": (unit(AB), [("", "")]),
    "unit": (unit(AB, 'translate="no"'), [(NEVER, "translate=no")]),
    "group": (group(inner(AB), 'translate="no"'), [(NEVER, "translate=no")]),
    "unit that says yes in a group": (group(inner(AB, 'translate="yes"'), 'translate="no"'), [("", "")]),
    "group that says yes in a group": (
        group(f'<group translate="yes">{inner(AB)}</group>{inner(CD)}', 'translate="no"'),
        [("", ""), (NEVER, "translate=no")],
    ),
    "group beside the unit": (
        f'<body><group translate="no">{inner(CD)}</group>{inner(AB)}</body>',
        [(NEVER, "translate=no"), ("", "")],
    ),
    "translate of another namespace": (unit(AB, 's:translate="no" its:translate="no"'), [("", "")]),
    "memoQ: locked": (unit(AB, 'mq:locked="locked"'), [(LOCKED, "locked")]),
    "memoQ: not locked": (unit(AB, 'mq:locked="no" mq:status="Proofread"'), [("", "Proofread")]),
    "memoQ: not started": (
        unit(COPY.format(""), 'mq:status="NotStarted"'),
        [(copied("NotStarted"), "NotStarted")],
    ),
    "Phrase: locked": (unit(AB, 'm:locked="true"'), [(LOCKED, "locked")]),
    "Phrase: not locked": (unit(AB, 'm:locked="false"'), [("", "")]),
    "Trados: a locked segment": (
        unit(SDL_SEGMENTS),
        [(LOCKED, "locked, ApprovedTranslation"), ("", "Draft")],
    ),
    "Trados: content that is locked": (
        f'<body>{inner(AB)}<trans-unit id="lockTU_1" translate="no">{CD}</trans-unit></body>',
        [("", ""), (NEVER, "translate=no")],
    ),
    "not to be translated, and locked": (
        unit(AB, 'translate="no" mq:locked="locked"'),
        [(NEVER, "translate=no, locked")],
    ),
    "new, a copy": (unit(COPY.format(' state="new"')), [(copied("new"), "new")]),
    "needs-translation, a copy": (
        unit(COPY.format(' state="needs-translation"')),
        [(copied("needs-translation"), "needs-translation")],
    ),
    "needs-translation, translated": (
        unit('<source>A</source><target state="needs-translation">B</target>'),
        [("", "needs-translation")],
    ),
    "translated, a copy": (unit(COPY.format(' state="translated"')), [("", "translated")]),
    "a copy without a state": (unit(COPY.format("")), [("", "")]),
    "new, and empty": (unit('<source/><target state="new"/>'), [("", "new")]),
}
STATES_2 = {
    "unit": (f'<unit id="u" translate="no"><segment>{AB}</segment></unit>', [(NEVER, "translate=no")]),
    "group": (
        f'<group id="g" translate="no"><unit id="u"><segment>{AB}</segment></unit>'
        f'<unit id="v" translate="yes"><segment>{CD}</segment></unit></group>',
        [(NEVER, "translate=no"), ("", "")],
    ),
    "initial, a copy": (
        f'<unit id="u"><segment state="initial">{COPY.format("")}</segment>'
        f'<segment state="initial">{AB}</segment><segment state="final">{COPY.format("")}</segment></unit>',
        [(copied("initial"), "initial"), ("", "initial"), ("", "final")],
    ),
}


def read(tmp_path: Path, content: str | bytes, name: str = "a.xlf") -> xliff.TranslationFile:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return xliff.read(path, Languages(*EN_ES))


def opened(path: Path, layout: Layout = READ) -> TranslationFile | Sheet:
    return FileInput(path, layout).file


def pairs(file: xliff.TranslationFile) -> list[tuple[str, str, str]]:
    return [(segment.id, segment.source, segment.target) for segment in file.segments]


@pytest.mark.parametrize("name", {**UNITS_1, **SEGMENTS_1})
def test_segments_of_xliff_1(name: str, tmp_path: Path) -> None:
    content, expected = {**UNITS_1, **SEGMENTS_1}[name]
    assert pairs(read(tmp_path, ONE.format(content))) == expected


@pytest.mark.parametrize("name", TEXTS_1)
def test_text_of_xliff_1(name: str, tmp_path: Path) -> None:
    content, expected = TEXTS_1[name]
    assert pairs(read(tmp_path, ONE.format(target(content)))) == [("1", "A", expected)]


@pytest.mark.parametrize("name", UNITS_2)
def test_segments_of_xliff_2(name: str, tmp_path: Path) -> None:
    content, expected = UNITS_2[name]
    assert pairs(read(tmp_path, TWO.format(content))) == expected


@pytest.mark.parametrize("name", TEXTS_2)
def test_text_of_xliff_2(name: str, tmp_path: Path) -> None:
    content, expected = TEXTS_2[name]
    data = '<originalData><data id="d1">&lt;br/></data><data id="d2">&lt;b></data></originalData>'
    segment = f'<segment id="s"><source>A</source><target>{content}</target></segment>'
    assert pairs(read(tmp_path, TWO.format(f'<unit id="u">{data}{segment}</unit>'))) == [
        ("u/s", "A", expected)
    ]


@pytest.mark.parametrize("name", PHRASE)
def test_tags_of_phrase_are_no_text(name: str, tmp_path: Path) -> None:
    content, text = PHRASE[name]
    both = f"<source>{content}</source><target>{content}</target>{PHRASE_CODES}"
    file = read(tmp_path, ONE.format(unit(both)))
    assert pairs(file) == [("1", text, text)]
    assert re.sub(rb"<note.*?</note>", b"", file.with_notes(["score 1"])) == file.document.content


def test_tags_of_phrase_are_text_in_files_of_others(tmp_path: Path) -> None:
    content = ONE.replace('xmlns:m="http://www.memsource.com/mxlf/2.0"', 'xmlns:m="m"')
    assert pairs(read(tmp_path, content.format(target("{1}foo {b&gt;bar&lt;b}"))))[0][2] == "{1}foo {b>bar<b}"


@pytest.mark.parametrize(
    ("frame", "content", "expected"),
    [
        *(pytest.param(ONE, *case, id=f"1.2: {name}") for name, case in STATES_1.items()),
        *(pytest.param(TWO, *case, id=f"2.1: {name}") for name, case in STATES_2.items()),
    ],
)
def test_segments_that_need_no_score(
    frame: str, content: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(frame.format(content))
    rows = opened(path).rows
    assert [(row.reason, row.texts.get("state", "")) for row in rows] == expected
    every = opened(path, Layout(languages=EN_ES, locked="score")).rows
    assert [(row.reason, row.texts.get("state", "")) for row in every] == [
        ("", state) for _, state in expected
    ]
    assert [row.texts for row in every] == [row.texts for row in rows]


@pytest.mark.parametrize(
    ("frame", "texts"), [(ONE, unit(AB)), (TWO, f'<unit id="u"><segment>{AB}</segment></unit>')]
)
def test_a_file_that_is_not_to_be_translated(frame: str, texts: str, tmp_path: Path) -> None:
    content = frame.replace("<file ", '<file translate="no" ').format(texts)
    assert [row.reason for row in read(tmp_path, content).rows] == [NEVER]


def test_placeholders_of_trados_mean_what_its_header_says(tmp_path: Path) -> None:
    tags = (
        '<header><tag-defs xmlns="http://sdl.com/FileTypes/SdlXliff/1.0">'
        '<tag id="5"><ph name="br">&lt;br/></ph></tag><tag id="6"><ph name="b">&lt;b/></ph></tag>'
        '<tag id="7"><ph word-end="true">x</ph></tag></tag-defs></header>'
    )
    content = tags + target("a<x id='5'/>b<x id='6'/>c<x id='7'/>d")
    assert pairs(read(tmp_path, ONE.format(content))) == [("1", "A", "a bc d")]


@pytest.mark.parametrize("namespace", ["", ' xmlns="urn:oasis:names:tc:xliff:document:1.1"'])
def test_files_of_older_versions(namespace: str, tmp_path: Path) -> None:
    file = f'<file source-language="en" original="a" datatype="x">{unit(AB)}</file>'
    assert pairs(read(tmp_path, f'<xliff version="1.1"{namespace}>{file}</xliff>')) == [("1", "A", "B")]


def test_ids_are_those_of_a_file(tmp_path: Path) -> None:
    two = ONE.format(unit(AB) + "</file><file source-language='en' original='b'>" + unit(AB))
    assert [segment.id for segment in read(tmp_path, two).segments] == ["1", "2:1"]


# Where notes are put, and that those of an earlier scoring go: the content, notes, what stands there then.
NOTES = {
    "behind the target, before elements of others": (
        ONE,
        unit(f"{AB}<alt-trans>{OLD}</alt-trans><mq:x/>"),
        ["n"],
        '<target>B</target><note from="qe">n</note><alt-trans>',
    ),
    "of the second alone": (
        ONE,
        unit(MARKED.format(1, 2, 1, 2, ">D.</mrk>")),
        [None, "m"],
        '</target><note from="qe">2: m</note></trans-unit>',
    ),
    "attributes with angle brackets, empty tags": (
        ONE,
        unit('<source>A</source><target state="a>b"/>'),
        ["n"],
        '<target state="a>b"/><note from="qe">n</note>',
    ),
    "earlier ones, nested in nothing": (
        ONE,
        unit(f'{AB}<note from="qe">old</note><note from="ana">mine</note>'),
        ["n"],
        '<target>B</target><note from="qe">n</note><note from="ana">mine</note>',
    ),
    "earlier ones of others stay": (
        ONE,
        unit(f'{AB}<mq:h><note from="qe">old</note></mq:h>'),
        ["n"],
        '<note from="qe">n</note><mq:h><note from="qe">old</note></mq:h>',
    ),
    "XLIFF 2: behind elements of others": (
        TWO,
        f'<unit id="u"><mtc:matches/><segment id="s">{AB}</segment></unit>',
        ["n"],
        '<mtc:matches/><notes><note category="qe">n</note></notes><segment id="s">',
    ),
    "XLIFF 2: before original data": (
        TWO,
        f'<unit id="u"><originalData><data id="d">x</data></originalData><segment>{AB}</segment></unit>',
        ["n"],
        '<unit id="u"><notes><note category="qe">n</note></notes><originalData>',
    ),
    "XLIFF 2: of the last of three alone": (
        TWO,
        f'<unit id="u"><segment>{AB}</segment><segment>{AB}</segment><segment>{AB}</segment></unit>',
        [None, None, "n"],
        '<unit id="u"><notes><note category="qe">3: n</note></notes><segment>',
    ),
    "XLIFF 2: in place of earlier ones": (
        TWO,
        f'<unit id="u"><notes><note category="qe">old</note></notes><segment>{AB}</segment></unit>',
        ["n"],
        '<unit id="u"><notes><note category="qe">n</note></notes><segment>',
    ),
    "XLIFF 2: nothing is left of earlier ones": (
        TWO,
        f'<unit id="u"><notes><note category="qe">old</note></notes><segment>{AB}</segment></unit>',
        [None],
        '<unit id="u"><segment>',
    ),
    "XLIFF 2: not in a match's notes": (
        TWO,
        f'<unit id="u"><mtc:x><notes><note>x</note></notes></mtc:x><segment>{AB}</segment></unit>',
        ["n"],
        '</mtc:x><notes><note category="qe">n</note></notes><segment>',
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_notes(name: str, tmp_path: Path) -> None:
    frame, content, notes, expected = NOTES[name]
    file = read(tmp_path, frame.format(content))
    text = file.with_notes(notes).decode()
    assert expected in text
    ET.fromstring(text)
    again = read(tmp_path, text)
    assert pairs(again) == pairs(file)
    assert again.with_notes(notes).decode() == text


def test_the_translate_toolkit_reads_the_notes(tmp_path: Path) -> None:
    file = read(tmp_path, ONE.format(unit(f"{AB}<note>by Ana</note>")))
    (tmp_path / "b.xlf").write_bytes(file.with_notes(["score 3.0"]))
    (read_by_it,) = toolkit_xliff.xlifffile.parsefile(str(tmp_path / "b.xlf")).units
    assert read_by_it.target == "B" and read_by_it.getnotes() == "score 3.0\nby Ana"


FILE = '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">{}</xliff>'
PART = f'<file original="{{}}" source-language="{{}}" target-language="{{}}" datatype="x">{unit(AB)}</file>'
LANGUAGES = {
    "underscore, case": PART.format("a", "en_US", "ES"),
    "script": PART.format("a", "en-Latn-US", "es-419"),
    "none of the target": PART.format("a", "en", "es").replace(' target-language="es"', ""),
    "of another namespace": PART.format("a", "en", "es").replace(
        "<file", '<file xmlns:m="m" m:target-language="ca"'
    ),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_languages(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(FILE.format(LANGUAGES[name]))
    assert len(opened(path).rows) == 1


def test_a_language_by_the_name_that_the_file_has_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(FILE.format(PART.format("a", "en", "xx")))
    assert len(opened(path, Layout(languages=EN_ES, tags={"target": "xx"})).rows) == 1


DECLARED = "<?xml version='1.0' encoding='{}'?>\n"
TEXT = FILE.format(PART.format("a", "en", "es").replace(">B<", ">é 日本<"))
ENCODINGS = ["utf-8", "UTF-8", "gb18030", "Shift_JIS", "EUC-JP", "iso-2022-jp", "utf-16"]


@pytest.mark.parametrize("encoding", [*ENCODINGS, "utf-32", "utf-16-le", "utf-8-sig"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    text = TEXT if encoding.lower().startswith("utf") else TEXT.replace("é ", "")
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    raw = (mark + DECLARED.format(encoding.removesuffix("-sig").removesuffix("-le")) + text).encode(encoding)
    file = read(tmp_path, raw)
    assert file.segments[0].target.endswith("日本")
    assert file.with_notes([None]) == raw
    noted = read(tmp_path, file.with_notes(["ñ & <日本>"]))
    assert noted.segments[0].notes == {"note:qe": "ñ & <日本>"}


def test_utf_16_without_a_mark_and_gzip(tmp_path: Path) -> None:
    raw = (DECLARED.format("utf-16") + TEXT).encode("utf-16-be")
    assert read(tmp_path, raw).segments[0].target == "é 日本"
    assert read(tmp_path, gzip.compress(raw), "a.xlf.gz").segments[0].target == "é 日本"


def test_notes_are_columns(tmp_path: Path) -> None:
    content = unit(
        f'{AB}<note from="ana">4.5</note><note>two</note><note>lines</note>'
        '<note from="qe">score 3.1; low 2</note>'
    )
    (row,) = read(tmp_path, ONE.format(content)).rows
    assert row.texts == {
        "id": "1", "source": "A", "target": "B", "note:ana": "4.5", "note": "two\nlines", "note:qe": "3.1",
    }  # fmt: skip


def further(file: xliff.TranslationFile) -> list[dict[str, str]]:
    """The columns of each row but for id, texts and state."""
    known = ("id", "source", "target", "state")
    return [{name: text for name, text in row.texts.items() if name not in known} for row in file.rows]


MDA = (
    '<mda:metadata xmlns:mda="urn:oasis:names:tc:xliff:metadata:2.0"><mda:metaGroup category="qe">'
    '<mda:meta type="comet">.7</mda:meta><mda:metaGroup><mda:meta type="domain"> law </mda:meta>'
    "</mda:metaGroup></mda:metaGroup></mda:metadata>"
)
PROPERTIES = {
    "XLIFF 1: prop": (
        ONE.format(unit(f'{AB}<prop-group name="a"><prop prop-type="comet">.7</prop></prop-group>')),
        [{"prop:comet": ".7"}],
    ),
    "XLIFF 1: context": (
        ONE.format(unit(
            f'{AB}<context-group purpose="information"><context context-type="x-domain">law</context>'
            "<context>none</context></context-group>"
        )),
        [{"prop:x-domain": "law"}],
    ),
    "memoQ and Phrase: attributes": (
        ONE.format(unit(AB, 'mq:percent="98" m:score="0.7" xml:space="preserve" approved="yes"')),
        [{"prop:percent": "98", "prop:score": "0.7"}],
    ),
    "Trados: definitions of segments": (
        ONE.format(unit(
            MARKED.format(1, 2, 1, 2, ">D.</mrk>") + '<sdl:seg-defs><sdl:seg id="1" percent="98" origin="tm">'
            '<sdl:value key="engine">x</sdl:value></sdl:seg><sdl:seg id="2"/></sdl:seg-defs>'
        )),
        [{"prop:percent": "98", "prop:origin": "tm", "prop:engine": "x"}, {}],
    ),
    "a suggestion's are its own": (
        ONE.format(unit(f'{AB}<alt-trans mq:percent="9"><prop-group><prop prop-type="a">b</prop></prop-group>'
                        f"{OLD}</alt-trans>")),
        [{}],
    ),
    "XLIFF 2: metadata": (
        TWO.format(f'<unit id="1">{MDA}<segment id="s" its:mtConfidence=".9">{AB}</segment>'
                   f'<segment id="t">{CD}</segment></unit>'),
        [{"prop:comet": ".7", "prop:domain": "law", "prop:mtConfidence": ".9"},
         {"prop:comet": ".7", "prop:domain": "law"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_are_columns(name: str, tmp_path: Path) -> None:
    content, expected = PROPERTIES[name]
    assert further(read(tmp_path, content)) == expected


def test_notes_of_several_segments_are_told_apart(tmp_path: Path) -> None:
    content = unit(MARKED.format(1, 2, 1, 2, ">D.</mrk>"))
    file = read(tmp_path, ONE.format(content))
    again = read(tmp_path, file.with_notes(["score 3.1", "score 2.5; low 1"]))
    assert [row.texts["note:qe"] for row in again.rows] == ["3.1", "2.5"]


def test_what_others_put_into_a_header_is_theirs(tmp_path: Path) -> None:
    """Elements of other namespaces, and what lies in a header, are no segments."""
    other = '<x:source xmlns:x="urn:x">a</x:source><header><note>n</note></header>'
    text = (
        f'<xliff version="1.2"><file source-language="en" target-language="es">{other}<body>'
        "<trans-unit id='1'><source>a</source><target>b</target></trans-unit></body></file></xliff>"
    )
    assert len(read(tmp_path, text).segments) == 1
