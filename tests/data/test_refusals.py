"""Data that is refused: what lies there, how it is read, and where the refusal points."""

import gzip
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe.data import Dataset, public
from qe.data.buckets import by_quality
from qe.data.check import check, guess_format, parse_settings
from qe.data.columns import label_scale
from qe.data.delimited import Layout, segments
from qe.data.folds import make_folds
from qe.data.format import FORMATS, make_format
from qe.data.headers import header_of
from qe.data.judges import judged_labels
from qe.data.reading import Reading, read_table
from qe.data.score_files import read_scores
from qe.data.table_rows import FileInput
from qe.data.tag_files import read_word_submission
from tests.data.test_tools import JUDGED, LINES, OF_BATCHES, RATED, Z, marks, task
from tests.data.test_wmt import FILES as WMT
from tests.data.test_wmt import HEADER as MQM
from tests.data.test_wmt import TRAIN, row
from tests.data.translation_files.test_tmx import DE, EN, ES, tuv
from tests.data.translation_files.test_xliff import AB, DECLARED, PART
from tests.data.translation_files.test_xliff import FILE as XLIFF
from tests.factories import refuses

Content = str | bytes | list[Any] | Mapping[str, Any]
EN_ES = {"source_language": "en", "target_language": "es"}
EN_DE = {"source_language": "en", "target_language": "de"}
SCORE = {"name": "score", "low": 1, "high": 5, "higher_is_better": True}
SPLIT = {"source": "s", "target": "t", "scores": "y"}
TEXTS = {"s": "a\nb\nc\n", "t": "A\nB\nC\n", "y": "1\n2.5\n5\n"}


def dataset(kind: str, name: str = "", **keys: Any) -> Callable[[Path], Any]:
    """Reads a path, or a file of the folder there, in this format."""
    return lambda path: make_format(kind, keys).read(path / name)


def text(**keys: Any) -> Callable[[Path], Any]:
    return dataset("parallel_text", **{"splits": {"train": SPLIT}, "label": SCORE, **EN_ES, **keys})


def table(**keys: Any) -> Callable[[Path], Any]:
    return dataset("table", **{"columns": {"scores": "score"}, "label": SCORE, **EN_ES, **keys})


def rows(layout: Layout | None = None) -> Callable[[Path], Any]:
    return lambda path: read_table(Reading(path), path, layout)


def scale(**label: Any) -> Any:
    return label_scale({"name": "x", "higher_is_better": True, **label})


def checked(kind: str, keys: Mapping[str, Any]) -> Callable[[Path], Any]:
    return lambda path: check(path, kind, dict(keys))


def submission(layout: Any = "words") -> Callable[[Path], Any]:
    return lambda path: read_word_submission(path, layout)


def in_file(**options: Any) -> Callable[[Path], Any]:
    return lambda path: FileInput(path, Layout(languages=("en", "es"), **options)).file


appraise = partial(dataset, "appraise", "scores.csv", **EN_DE)
studio = partial(dataset, "label_studio", **EN_DE, label=RATED)
majority = dataset("catastrophic_errors", pair="en-de")
units = in_file()
mqm, wmt = dataset("mqm", **EN_DE), dataset("wmt_qe", **EN_DE)
PLAIN = row("das rot Haus", "A", "Minor")
GOOD = "source\ttarget\tscore\na\tb\t1\n"
CLASSES = {"src": ["a", "b"], "mt": ["d", "e"], "label": [True, False]}
ONE = '{"source": "a", "target": "b", "score": 1}\n'
A2 = "M\t0\t0\ta\tOK\n"
TMX = '<tmx version="1.4"><header srclang="en-US"/><body>{}</body></tmx>'
IN_2 = '<xliff version="2.0" srcLang="en" trgLang="es"><file id="f">{}</file></xliff>'
IN_1 = XLIFF.format('<file source-language="en" target-language="es"><body>{}</body></file>')
PAIR = {"format": "table", "path": "a.tsv", "columns": {"scores": "score"}, "label": SCORE, **EN_ES}
# Name of a file or folder, what it holds, what reads it, and where the refusal points.
FILES: dict[str, tuple[str, Content, Callable[[Path], Any], str]] = {
    "no place": ("none", {}, lambda path: check(path / "none"), "none: no such file or folder"),
    "no format": ("none", {}, guess_format, "cannot tell .*--format"),
    "no address": ("d", {}, lambda path: public.fetch("wmt18-qe", path), "wmt18-qe: .*LRT-2619"),
    "text: lines": ("d", {**TEXTS, "t": "A\nB\n"}, text(), r"/t:2: ends .*/s has 3"),
    "text: bytes": ("d", {**TEXTS, "t": b"A\nB\xff\nC\n"}, text(), r"/t:2: not UTF-8 .*0xff at position 2"),
    "text: no label": ("d", {**TEXTS, "y": "1\n\n3\n"}, text(), "/y:2: .*missing"),
    "text: a word as label": ("d", {**TEXTS, "y": "1\n2\ngood\n"}, text(), "/y:3: .*'good'"),
    "text: thousands": ("d", {**TEXTS, "y": "1\n2,500\n3\n"}, text(), "/y:2: .*'2,500'.*decimal point"),
    "text: off the scale": ("d", {**TEXTS, "y": "1\n5.1\n3\n"}, text(), r"/y:2: .*off .*\[1, 5\]"),
    "text: damaged gzip": (
        "d", {**TEXTS, "s": gzip.compress(b"a\n" * 1000)[:-12]}, text(), "/s: damaged gzip",
    ),
    "text: infinite": (
        "d", {**TEXTS, "y": "1\n1e999\n3\n"}, text(label={**SCORE, "low": None, "high": None}), "y:2: .*inf",
    ),
    "text: a judge too few": (
        "d", {**TEXTS, "j": "1 2\n3\n5 5\n"}, text(splits={"train": {**SPLIT, "judges": "j"}}), "/j:2: .*2",
    ),
    "text: an id twice": (
        "d", {**TEXTS, "i": "x\ny\nx\n"}, text(splits={"train": {**SPLIT, "id": "i"}}), "/i:3: .*'x'.*/i:1",
    ),
    "text: no post-edit": (
        "d", {**TEXTS, "p": "a\n\nD\n"},
        text(splits={"train": {"source": "s", "target": "t", "post_edit": "p"}}, label="hter"), "p:2: ",
    ),
    "text: no direction": ("d", TEXTS, text(label={"name": "x"}), "higher_is_better: .*required"),
    "text: a direction in words": (
        "d", TEXTS, text(label={**SCORE, "higher_is_better": "yes"}), "higher_is_better: .*'yes'",
    ),
    "text: no split": ("d", TEXTS, text(splits={}), "no split"),
    "text: no target": ("d", TEXTS, text(splits={"train": {"source": "s", "scores": "y"}}), "no target"),
    "text: no such file": (
        "d", TEXTS, text(splits={"train": {**SPLIT, "target": "nowhere"}}), "nowhere: no such file",
    ),
    "text: a key is needed": ("d", TEXTS, checked("parallel_text", {}), "needs the key 'splits'"),
    "text: another key": ("d", TEXTS, checked("wmt12", {"labels": "hter"}), "no key 'labels'"),
    "wmt12: no folder": ("d", {}, dataset("wmt12"), "no folder training_set"),
    "wmt12: no post-edits": (
        "d", {"training_set": {"source.eng": "a\n", "target_system.spa": "A\n"}}, dataset("wmt12"),
        r"target_postedited\.spa: no such",
    ),
    "wmt12: another label": ("d", {}, dataset("wmt12", label="ter"), "but got .ter."),
    "table: a field too few": ("a.tsv", "source\ttarget\tscore\na\tb\n", table(), r"a\.tsv:2: 2 fields"),
    "table: a header twice": ("a.tsv", "source\ttarget\tsource\na\tb\tc\n", table(), r"a\.tsv:1: .*'source'"),
    "table: no label": ("a.csv", 'source,target,score\n"x\ny",b,1\na,b,\n', table(), r"csv:4: .*'score'"),
    "table: no column": ("a.tsv", GOOD, table(columns={"scores": "z"}), r"a\.tsv:1: .*'z' .*it has source"),
    "table: no column for the label": ("a.tsv", GOOD, table(columns={}), "mapped to scores.*`blind`"),
    "table: another role": ("a.tsv", GOOD, table(columns={"score": "score"}), "unknown key 'score'"),
    "table: no column of post-edits": ("a.tsv", GOOD, table(label="hter", columns={}), "mapped to post_edit"),
    "table: no JSON": ("a.jsonl", ONE + "no\n", table(), r"a\.jsonl:2: .*JSON"),
    "table: other keys": ("a.jsonl", ONE + '{"source": "a"}\n', table(), "jsonl:2: the keys"),
    "table: no weight": (
        "a.csv", "source,target,score,w\na,b,1,\n", table(columns={"scores": "score", "row_weights": "w"}),
        "weight of the row is missing; give every segment one, or leave out its file or column",
    ),
    "table: null as label": ("a.jsonl", ONE.replace("1", "null"), table(), r"jsonl:1: .*'score' is missing"),
    "table: null as target": ("a.jsonl", ONE.replace('"b"', "null"), table(), r"jsonl:1: the target"),
    "table: no Parquet": ("a.parquet", "PAR", table(), r"a\.parquet: not a Parquet"),
    "table: another ending": ("a.doc", "x", table(), r"a\.doc: .*'doc'"),
    "rows: Cyrillic": ("a.tsv", "s\tt\nщука\tрыба\n".encode("cp1251"), rows(), "tsv:2: not UTF-8 .byte"),
    "rows: a damaged byte": ("a.tsv", "s\tt\né é é\t".encode() + b"\xff\n", rows(), "tsv:2: not UTF-8"),
    "rows: never closed": ("a.csv", 'source,target\na,b\n"c,d\n', rows(), "a.csv:3: not valid"),
    "rows: delimiter": ("a.csv", "a,b\n", rows(Layout(delimiter="ab")), "'ab' is no delimiter"),
    "rows: encoding": ("a.csv", "a,b\n", rows(Layout(encoding="klingon")), "'klingon' is no encoding"),
    "rows: encoding of bytes": ("a.csv", "a,b\n", rows(Layout(encoding="hex")), "'hex' is no encoding"),
    "rows: another encoding": ("a.csv", b"a,b\n\xff,c\n", rows(Layout(encoding="ascii")), "csv:2: not ascii"),
    "rows: another encoding far below": (
        "a.csv", b"a,b\n" * 4000 + b"\xff,c\n", rows(Layout(encoding="ascii")), "csv:4001: not ascii",
    ),
    "rows: half a character": (
        "a.csv", "a,b\n1,2\n".encode("utf-16") + b"\x00\xd8\x00", rows(Layout(encoding="utf-16")),
        "csv:3: not utf-16",
    ),
    "rows: decimal sign": ("a.csv", "a,b\n", rows(Layout(decimal="'")), "is no decimal sign"),
    "rows: kind": ("a.csv", "a,b\n", rows(Layout("xls")), "'xls'; known: tsv"),
    "rows: a field too few": ("a.csv", "a,b\nc,d\ne\n", rows(), "a.csv:3: 1 fields"),
    "sgm: no segment": ("a.sgm", "a\nb\n", segments, "no <seg>"),
    "sgm: not closed": ("a.sgm", '<seg id="1">a\n<seg id="2">b</seg>', segments, r"a\.sgm:1: .*not closed"),
    "sgm: not closed at the end": ("a.sgm", '\n<seg id="1">a\n', segments, r"a\.sgm:2: .*not closed"),
    "sgm: not opened": ("a.sgm", "a</seg>", segments, "not opened"),
    "sgm: two systems": (
        "a.sgm", '<doc sysid="x"><seg id="1">a</seg></doc><doc sysid="y"><seg id="1">b</seg></doc>', segments,
        "2 systems",
    ),
    "scores: a gap": ("a", "en-de\tM\t0\t1\nen-de\tM\t2\t1\n", read_scores, "a:2: segment 2 .*1"),
    "scores: twice": ("a", "en-de\tM\t0\t1\nen-de\tM\t0\t2\n", read_scores, "a:2: segment 0 .*twice"),
    "scores: systems": ("a", "en-de\tM\t0\t1\nen-de\tN\t1\t2\n", read_scores, "2 systems"),
    "scores: no number": ("a", "en-de\tM\t0\tx\n", read_scores, "a:1: .*'x'"),
    "scores: another line": ("a", "en-de\tM\t0\t1\nen-de\tM\t1\n", read_scores, "a:2: .*METHOD"),
    "scores: four header lines": ("a", "1\n2\n3\n4\nen-de\tM\t0\t1\n", read_scores, "a:5: .*not a number"),
    "scores: off the scale": (
        "a", "en-de\tM\t0\t1.5\n", lambda path: read_scores(path, low=0, high=1), "segment 1 .*1.5, off",
    ),
    "comet: systems": ("a.json", '{"a": [{"COMET": 0.5}], "b": [{"COMET": 1}]}', read_scores, "2 systems"),
    "comet: no score": ("a.json", '{"a": [{"src": "x"}]}', read_scores, "0 scores"),
    "comet: two scores": ("a.json", '{"a": [{"COMET": 1, "kiwi": 2}]}', read_scores, "2 .*COMET, kiwi"),
    "comet: no number": ("a.json", '{"a": [{"COMET": 1}, {"COMET": "x"}]}', read_scores, "a:1: .*'x'"),
    "comet: no segment": ("a.json", '{"a": [1]}', read_scores, "a:0: .*object"),
    "tags: a word twice": ("a", A2 * 2, submission(), ":2: segment 0: index 0 .*twice"),
    "tags: a gap": ("a", A2 + "M\t0\t2\ta\tOK\n", submission(), ":2: .*index 2 .*but 1"),
    "tags: a segment is missing": ("a", A2 + "M\t7\t0\ta\tOK\n", submission(), "segment 7 .*but 1"),
    "tags: a huge number": ("a", A2 + f"M\t{10**17}\t0\ta\tOK\n", submission(), r"segment 1\d+ .*but 1"),
    "tags: from 2": ("a", "M\t2\t0\ta\tOK\n", submission(), "segment 2 .*but 1"),
    "tags: two systems": ("a", A2 + A2.replace("M", "N"), submission(), "2 systems .M, N"),
    "tags: no gaps": ("a", A2, submission("tags"), "gaps; --layout"),
    "tags: gaps that do not fit": (
        "a", "M\tmt\t0\t0\ta\tOK\nM\tgap\t0\t0\t_\tOK\n", submission("tags"), "1 gaps .*segment 0",
    ),
    "tags: another tag": ("a", A2 + "M\t0\t1\ta\tGOOD\n", submission(), ":2: .*TYPE"),
    "wmt: tags": ("d", {**WMT, "train.tags": "OK BAD\nOK OK OK\n"}, wmt, "train.tags:1: .*5 tags"),
    "wmt: label": ("d", {**WMT, "train.hter": "-1\n0\n"}, wmt, "train.hter:1: .*-1"),
    "wmt: lines": ("d", {**WMT, "train.pe": "x\n"}, wmt, "train.pe:1: .*train.src has 2"),
    "wmt: tags twice": ("d", {**WMT, "train.src_tags": "OK OK\nOK\n"}, wmt, "train.src_tags: .*source_tags"),
    "wmt: a split twice": ("d", {**WMT, "b": {"train.src": "a\n", "train.mt": "x\n"}}, wmt, "'train' is in"),
    "wmt: two pairs": (
        "d", {pair: {"test.src": "a\n", "test.mt": "b\n"} for pair in "ab"}, wmt, "'test' is in",
    ),
    "wmt: sources alone": ("d", {"train.src": "a\n"}, wmt, "no SPLIT.src with SPLIT.mt"),
    "errors: no training file": ("d", {"ende_majority_dev.tsv": TRAIN}, majority, "train.tsv: no such"),
    "errors: another label": (
        "d", {"ende_majority_train.tsv": "1\ta\tb\t[0]\tMAYBE\n"}, majority, "train.tsv:1: .*not a number",
    ),
    "errors: a field too few": (
        "d", {"ende_majority_train.tsv": "1\ta\tb\tNOT\n"}, majority, "train.tsv:1: .*found 4",
    ),
    "errors: an id twice": ("d", {"ende_majority_train.tsv": TRAIN * 2}, majority, "train.tsv:3: .*id '1'"),
    "mqm: severity": ("a", MQM + row("x", "A", "Critical"), mqm, ":2: .*severity 'critical'"),
    "mqm: texts": ("a", MQM + PLAIN + PLAIN.replace("rot", ""), mqm, ":3: another text"),
    "mqm: no column": ("a", "system\tsource\nA\tb\n", mqm, "a:1: .*'doc'"),
    "pairs: a key of one is needed": (
        "d", {}, dataset("language_pairs", pairs={"en-de": {"format": "table"}}), "pairs.en-de: .*'path'",
    ),
    "pairs: another key of one": (
        "d", {}, dataset("language_pairs", pairs={"en-de": {**PAIR, "nonesuch": 1}}), "en-de.*'nonesuch'",
    ),
    "pairs: none": ("d", {}, dataset("language_pairs", pairs={}), "no language pair"),
    "pairs: labels of two kinds": (
        "d", {"a.tsv": GOOD + "a\tb\t2\n"},
        dataset("language_pairs", pairs={"en-es": PAIR, "en-de": {**PAIR, "label": {**SCORE, "name": "x"}}}),
        "directions: en-es score, en-de x",
    ),
    "studio: two controls": (
        "a.json", [task(1, {"result": marks("rating", 4)["result"] + marks("number", 9, "b")["result"]})],
        studio(), "`control` to one of quality, b",
    ),
    "studio: no such control": (
        "a.json", [task(1, marks("rating", 4))], studio(control="qualty"), "'qualty'.*'quality'",
    ),
    "studio: no label": ("a.json", [task(1)], studio(), "no annotation"),
    "studio: off the scale": ("a.json", [task(1, marks("rating", 9))], studio(), "task 1: .*9.0, off"),
    "studio: no source": (
        "a.json", [{"id": 1, "data": {"x": "a", "mt": "b"}, "annotations": [marks("rating", 4)]}], studio(),
        "the source; .*`columns: .source",
    ),
    "studio: nothing": ("a.json", [], studio(), "no tasks"),
    "tmx: no target": ("a.tmx", TMX.format(f"<tu>{EN}{DE}</tu>"), units, "target in 'es'.* 'de', 'en'"),
    "tmx: no source": ("a.tmx", TMX.format(f"<tu>{DE}{ES}</tu>"), units, "source in 'en'.* 'de', 'es-ES'"),
    "tmx: unknown": (
        "a.tmx", TMX.format(f"<tu>{EN}{tuv('xx', 'B')}</tu>"), units, "'en', 'xx'.*--languages target=TAG",
    ),
    "tmx: no unit": ("a.tmx", TMX.format(""), units, "no translation unit"),
    "tmx: outside": ("a.tmx", TMX.format(EN + ES), units, "<tuv> .*outside of any <tu>"),
    "xliff: encoding": ("a.xlf", DECLARED.format("klingon"), units, "'klingon' is not known"),
    "xliff: UTF-16 as UTF-8": (
        "a.xlf", f"{DECLARED.format('utf-8')}<a/>".encode("utf-16"), units, "'utf-8', but is",
    ),
    "xliff: EBCDIC": ("a.xlf", DECLARED.format("cp037") + "<a/>", units, "'cp037', but is"),
    "xliff: not UTF-8": ("a.xlf", b"<a>\xff</a>", units, "byte 4 .*'utf-8'"),
    "xliff: gzip": ("a.xlf", b"\x1f\x8b\x08\x00", units, "damaged gzip"),
    "xliff: entities": (
        "a.xlf", '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><xliff>&c;</xliff>', units, ":1:25: .*b",
    ),
    "xliff: XML": ("a.xlf", "<xliff version='1.2'><file></xliff>", units, r"xlf:1:\d+: .*mismatched"),
    "xliff: namespace": ("a.xlf", "<xliff xmlns='urn:x' version='1.2'/>", units, "no XLIFF"),
    "xliff: version": ("a.xlf", "<xliff version='3.7'/>", units, "'3.7' is not known; known: 1.0, 1.1"),
    "xliff: deep": ("a.xlf", "<xliff version='1.2'>" + "<g>" * 20_000, units, "200 deep"),
    "xliff: Catalan": ("a.xlf", XLIFF.format(PART.format("a", "en", "ca")), units, "<file a>: .*'ca'"),
    "xliff: another language in the second file": (
        "a.xlf", XLIFF.format(PART.format("a", "en", "es") + PART.format("b", "en", "pt-BR")), units,
        "<file b>: .*target .*'pt-BR'",
    ),
    "xliff: backwards": ("a.xlf", XLIFF.format(PART.format("a", "es", "en")), units, "source is in 'es'"),
    "xliff: unknown language": (
        "a.xlf", XLIFF.format(PART.format("a", "en", "xx")), units, "'xx' of the target .*--languages",
    ),
    "xliff: a name of a language": (
        "a.xlf", XLIFF.format(PART.format("a", "English", "es")), units, "'English' of the source",
    ),
    "xliff: another language in a unit": (
        "a.xlf", XLIFF.format(PART.format("a", "en", "es").replace("<target", '<target xml:lang="ca"')),
        units, "unit 1: .*'ca'",
    ),
    "xliff: a verb that reads tables": (
        "a.xlf", XLIFF, lambda path: FileInput(path, Layout()).file, "is no table; .*`qe score --keep`",
    ),
    "xliff: locked": ("a.xlf", XLIFF, in_file(locked="all"), "--locked.*'all'"),
    "xliff: a source outside": ("a.xlf", IN_1.format("<source>a</source>"), units, "<source> .*outside"),
    "xliff: a target outside": (
        "a.xlf", IN_1.format("<group><target>a</target></group>"), units, "<target> .*outside",
    ),
    "xliff: segment outside": ("a.xlf", IN_2.format(f"<segment>{AB}</segment>"), units, "<segment> .*outs"),
    "xliff: a source of 2 outside": (
        "a.xlf", IN_2.format("<group><source>a</source></group>"), units, "<source> .*outside",
    ),
}  # fmt: skip
# Rows that Appraise exported, how the texts are named, and where the refusal points.
APPRAISED: dict[str, tuple[str, dict[str, Any], str]] = {
    "which document": ("u1,A+B,1,TGT,eng,deu,80\n", OF_BATCHES, "csv:1: 2 texts of system 'A.B'"),
    "no such item": ("u1,A+B,7,TGT,eng,deu,80,d1,False\n", OF_BATCHES, "csv:1: no text of system 'A.B'"),
    "no such line": ("u1,A,7,TGT,eng,deu,80\n", LINES, "csv:1: no text of system 'A', .*item 7; .* 2"),
    "no such system": ("u1,C,1,TGT,eng,deu,80\n", LINES, "system 'C'; known: A, B"),
    "no texts": (Z, {"label": "raw"}, "must be named once"),
    "texts twice": (Z, {**LINES, "batches": "batches.json"}, "must be named once"),
    "two pairs": (Z + "u1,A,1,TGT,eng,ces,2\n", LINES, "which language pair"),
}
FILES |= {
    f"appraise: {name}": ("d", {**JUDGED, "scores.csv": csv}, appraise(**keys), place)
    for name, (csv, keys, place) in APPRAISED.items()
}
# What is called, and where the refusal points.
CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "qualities of two lengths": (lambda: by_quality([np.arange(2.0), np.arange(3.0)], ""), "of 2 and 3"),
    "one judge": (lambda: judged_labels(np.ones((3, 1))), "two judges"),
    "judges differ": (lambda: judged_labels(np.array([[1.0, 3.0]])), "every segment; allow larger"),
    "no segment": (lambda: make_folds(0, 2), "2 folds .*segments, .* 0"),
    "too few segments": (lambda: make_folds(3, 5), "5 folds .*segments, .* 3"),
    "too few blocks": (lambda: make_folds(100, 5, scheme="block"), "blocks .*31 segments, .* 4"),
    "too few documents": (
        lambda: make_folds(4, 3, scheme="document", documents=list("aabb")), "documents, .* 2",
    ),
    "no documents": (lambda: make_folds(4, 2, scheme="document"), "no document ids"),
    "one fold": (lambda: make_folds(4, 1), "at least 2 folds"),
    "no language pairs": (lambda: make_folds(7, 2, scheme="language_pair"), "no language pairs"),
    "two headers": (lambda: header_of("target", ["mt", "hyp"], "x"), "x: .*the target: mt, hyp"),
    "one class": (lambda: scale(classes=["a"]), "two different classes"),
    "classes without quotes": (lambda: scale(classes=[True, False]), r"\[True, False\].*in quotes"),
    "a scale of classes": (lambda: scale(classes=["a", "b"], high=5), "must be 0 and 1"),
    "a direction unknown": (
        lambda: Dataset.from_frame(pd.DataFrame(CLASSES), "label", **EN_DE), "direction of the label 'label'",
    ),
    "no such dataset": (lambda: public.dataset("wmt13"), "dataset 'wmt13'; known: wmt12-qe"),
    "no such pair": (lambda: public.dataset("mlqe-pe", ["en-xx"]), "pair 'en-xx'; known: en-de"),
}  # fmt: skip
for codec in ("hex", "rot13", "utf-7", "undefined"):
    FILES[f"xliff: {codec}"] = ("a.xlf", DECLARED.format(codec), units, f"'{codec}' is no encoding")
for wrong in (["pair"], ["=x"], ["b=[1"], ["a=1", "a.b=2"]):
    CALLS[f"--set {wrong}"] = (partial(parse_settings, wrong), "--set")
for known in FORMATS.names:
    CALLS[f"{known}: another key"] = (partial(make_format, known, {"nonesuch": 1}), "'nonesuch'.*known")


def put(path: Path, content: Content) -> None:
    if isinstance(content, Mapping):
        path.mkdir()
        for name, part in content.items():
            put(path / name, part)
    elif isinstance(content, list):
        path.write_text(json.dumps(content))
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("case", FILES)
def test_files(case: str, tmp_path: Path) -> None:
    name, content, read, place = FILES[case]
    put(tmp_path / name, content)
    before = sorted(tmp_path.rglob("*"))
    refuses(place, read, tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("case", CALLS)
def test_calls(case: str) -> None:
    call, place = CALLS[case]
    refuses(place, call)
