"""What scoring refuses: files, settings and commands, and where the refusal points."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qe.data import LabelScale
from qe.data.table_rows import open_input, read_rows
from qe.production.triage import Thresholds
from qe.scoring import Options
from qe.scoring.checks import Checks, Knowledge
from qe.scoring.filtering import filter_checks, filter_files
from qe.scoring.input import files_of, open_all
from qe.scoring.job_summary import Condition
from qe.scoring.routes import read_routes
from qe.scoring.row_formats import Names, Needs
from tests.factories import costs_file, ran, refuses
from tests.scoring.test_in_place import XLIFF

KNOWLEDGE = Knowledge(("en", "de"))
ROW = "source\ttarget\na\tb\n"
TEXTS = {"s": "a\nb\nc\n", "t": "x\n"}


def rows(name: str) -> Callable[[Path], Any]:
    return lambda folder: list(read_rows(folder / name))


def parallel(folder: Path) -> Any:
    return list(open_input([folder / "s", folder / "t"]).rows())


def columns(folder: Path) -> Any:
    return open_input([folder / "a.csv"]).columns


def types(folder: Path) -> Any:
    for name, values in (("a", [1]), ("b", ["x"])):
        pq.write_table(pa.table({"n": values}), folder / f"{name}.parquet")
    return open_all([folder]).types


def two_of_one_name(folder: Path) -> Any:
    names = ["source", "target", "target"]
    pq.write_table(pa.table([pa.array(["a"])] * 3, names=names), folder / "a.parquet")
    return list(read_rows(folder / "a.parquet"))


def damaged_page(folder: Path) -> Any:
    path, texts = folder / "a.parquet", [f"text {i * 7919 % 1000}" for i in range(5000)]
    pq.write_table(pa.table({"source": texts, "target": texts}), path)
    content = bytearray(path.read_bytes())
    content[200:2000] = b"\xff" * 1800
    path.write_bytes(content)
    return list(read_rows(path))


def routes(folder: Path) -> Any:
    return read_routes(folder / "routes.yaml")


def costs(folder: Path) -> Any:
    return Thresholds.from_file(costs_file(folder), folder, LabelScale("effort", 1, 5, higher_is_better=True))


def filtered(folder: Path) -> Any:
    return filter_files([folder / "s", folder / "t"], [folder / "x"] * 2, filter_checks(KNOWLEDGE))


def named(**headers: str) -> Callable[[], Any]:
    given = ["src", "mt", "target"]
    return lambda: Names(headers).for_table(Needs(("source", "target"), "the model"), given, given, "in.tsv")


# Files of a folder, what reads them, and where the refusal points.
FILES: dict[str, tuple[Mapping[str, str | bytes], Callable[[Path], Any], str]] = {
    "another ending": ({"x.xls": ""}, rows("x.xls"), "x.xls: .*'xls'; known: tsv"),
    "not UTF-8": ({"x.tsv": "a\tb\né é\t".encode() + b"\xff\n"}, rows("x.tsv"), "x.tsv:2: not UTF-8"),
    "no CSV": ({"x.csv": 'a,b\n"x"y,"z, z"\n'}, rows("x.csv"), "x.csv:2: not valid CSV"),
    "no Parquet": ({"x.parquet": "no"}, rows("x.parquet"), "x.parquet: not a Parquet"),
    "a damaged page": ({}, damaged_page, "a.parquet: a damaged Parquet"),
    "a column twice": ({}, two_of_one_name, "a.parquet:1: .*'target'"),
    "a header that goes on": ({"a.csv": '"id"x,source\n1,a\n'}, rows("a.csv"), r"a\.csv:\d: not valid CSV"),
    "columns of one that goes on": ({"a.csv": '"id"x,source\n1,a\n'}, columns, r"a\.csv:\d: not valid CSV"),
    "a header not closed": ({"a.csv": '"id,source\n1,a\n'}, rows("a.csv"), r"a\.csv:\d: not valid CSV"),
    "columns of one not closed": ({"a.csv": '"id,source\n1,a\n'}, columns, r"a\.csv:\d: not valid CSV"),
    "texts of two lengths": (TEXTS, parallel, "t has 1 and .*s has 3"),
    "a filter of one output": (TEXTS, filtered, "x: is an input too"),
    "no file of a pattern": ({}, lambda folder: files_of([folder / "*.tsv"]), "no file has such a name"),
    "an empty folder": ({}, lambda folder: files_of([folder]), "holds no files"),
    "kinds": ({"a.tsv": "", "b.jsonl": ""}, lambda folder: files_of([folder]), "several kinds: jsonl, tsv"),
    "unknown kind": ({"a.tsv": "", "b.pdf": ""}, lambda folder: files_of([folder]), "ending 'pdf'"),
    "a folder in it": ({"a.tsv": "", "sub/x.tsv": ""}, lambda folder: files_of([folder]), "holds 'sub'"),
    "other columns": (
        {"a.tsv": "id\t" + ROW, "b.tsv": ROW}, lambda folder: open_all([folder]).columns,
        "b.tsv: .*a.tsv has id, source",
    ),
    "other types": ({}, types, "b.parquet: .*'n' is string, but int64"),
    "no routes": ({"routes.yaml": "{}"}, routes, "holds no routes"),
    "no model": ({"routes.yaml": "- {pair: en-de}"}, routes, "route 1: .*model"),
    "no text": ({"routes.yaml": "- {language: no, model: m}"}, routes, "route 1: language .*False.*quotes"),
    "behind all": (
        {"routes.yaml": "- {model: m}\n- {pair: en-de, model: n}"}, routes, "route 2 .pair=en-de.: .*1 .all",
    ),
    "behind another": (
        {"routes.yaml": "- {a: x, model: m}\n- {a: x, b: y, model: n}"}, routes, "route 2 .*: route 1 .a=x",
    ),
    "a model without predictions": ({}, costs, "no labels with predictions"),
}  # fmt: skip
# What is called, and where the refusal points.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "unknown column": (named(sorce="src"), "column 'sorce'; known: source.* 'source'"),
    "no such header": (named(source="text"), "in.tsv: .*'text'; .*has src, mt, target"),
    "no such column of ids": (named(source="src", id="key"), "in.tsv: .*no column 'key'"),
    "no header": (named(source=""), "'source' is given no header"),
    "missing columns": (lambda: Options(missing_columns="zero"), "choice 'zero'"),
    "unknown check of flags": (lambda: Checks.make(KNOWLEDGE, {"number": {}}), "check 'number'.* 'numbers'"),
    "unknown excluded": (lambda: filter_checks(KNOWLEDGE, excluded=["number"]), "check 'number'"),
    "unknown additional": (lambda: filter_checks(KNOWLEDGE, additional=["number"]), "check 'number'"),
}
CALLS |= {
    setting: (partial(filter_checks, KNOWLEDGE, settings=dict([setting.split("=")])), place)
    for setting, place in {
        "length.max=5": "of length 'max'; known: minimum, maximum",
        "lenght.maximum=5": "check 'lenght'.* 'length'",
        "length.maximum=5.5": "length.maximum .*whole number.*'5.5'",
        "ratio.maximum=nan": "ratio.maximum .*number from 0",
    }.items()
}
CONDITIONS = (
    "unscored> unscored>x unscored>-1 unscored>101% unscored>1.5 unscored>1_0 unscored>1e400 unscored<1"
)
for text in ["", "unscored", "unscored>\u0663", "drift>1", *CONDITIONS.split()]:
    CALLS[f"condition {text}"] = (partial(Condition.parsed, text), "expected 'unscored>1%'")
# Input and options of `qe score`, the output, and where the refusal points.
COMMANDS = {
    "no words": (("a.tsv", "b.tsv", "--tokens"), "word-level part; train one .*word_quality"),
    "a column of scores": (("s.tsv", "b.tsv", "--keep"), "s.tsv: .*column 'score'"),
    "columns of XLIFF": (("a.xlf", "b.xlf", "--keep"), "--keep is for tables"),
    "words of XLIFF": (("a.xlf", "b.xlf", "--tokens"), "--tokens is for tables"),
    "another file": (("a.xlf", "b.tmx", "--quiet"), "of xliff is scored into one of xliff"),
    "locked rows": (("a.tsv", "b.tsv", "--locked", "score"), "--locked"),
    "summaries": (("a.tsv", "b.tsv", "--summary", "s.json", "--no-summary"), "--no-summary"),
}


def put(folder: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize("case", FILES)
def test_files(case: str, tmp_path: Path) -> None:
    files, read, place = FILES[case]
    put(tmp_path, files)
    refuses(place, read, tmp_path)


@pytest.mark.parametrize("case", CALLS)
def test_calls(case: str) -> None:
    call, place = CALLS[case]
    refuses(place, call)


@pytest.mark.parametrize("case", COMMANDS)
def test_commands(case: str, demo_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source, output, *options), place = COMMANDS[case]
    monkeypatch.chdir(tmp_path)
    before = put(tmp_path, {"a.tsv": ROW, "a.xlf": XLIFF, "s.tsv": "source\ttarget\tscore\na\tb\t1\n"})
    done = ran("score", "-m", demo_model, "-i", source, "-o", output, *options, code=2)
    assert re.search(place, done.err), done.err
    assert sorted(tmp_path.rglob("*")) == before
