"""Long lines and cells, tables of too many columns, loops of symbolic links: refused by every reader."""

import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qe
from features.storage.files import MAX_LINE
from qe.data import MlqePe, read_scores, read_tags
from qe.data.check import check
from qe.data.delimited import Layout
from qe.data.format import make_format
from qe.data.public import terms_of
from qe.data.reading import Reading, read_table
from qe.data.table_rows import open_input
from tests.factories import refuses

LONG = "a" * (MAX_LINE + 1)
ROW = "a" * 1000 + ",b\n"
QUOTED_ROW = '"' + "a" * 1000 + '","b"\n'
LAYOUT = Layout(languages=("en", "de"))
XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en" '
    'target-language="de"><body>\n<trans-unit id="1"><source>{}</source><target>b</target></trans-unit>'
    "</body></file></xliff>"
)
TMX = (
    '<tmx version="1.4"><header srclang="en"/><body>\n<tu><tuv xml:lang="en"><seg>{}</seg></tuv>'
    '<tuv xml:lang="de"><seg>b</seg></tuv></tu></body></tmx>'
)


def streamed(path: Path) -> None:
    for _ in open_input([path], LAYOUT).rows():
        pass


def whole(path: Path) -> None:
    read_table(Reading(path.parent), path, LAYOUT)


# Name of the file -> its content, and the message.
TEXTS: dict[str, tuple[str, str]] = {
    "line.tsv": (f"source\ttarget\na\tb\n{LONG}\tb\n", "line.tsv:3: line longer than 16 MiB"),
    "line.csv": (f"source,target\n{LONG},b\n", "line.csv:2: line longer than 16 MiB"),
    "line.jsonl": (f'{{"source": "{LONG}", "target": "b"}}\n', "line.jsonl:1: line longer than 16 MiB"),
    "quote.csv": (
        '"source","target"\n' + QUOTED_ROW * 400 + '"open,b\n' + ROW * 17_000,
        "quote.csv:402: not valid CSV: a quoted field is longer than 16 MiB",
    ),
    "text.xlf": (XLIFF.format(LONG), "text.xlf:2:[0-9]+: text longer than 16 MiB"),
    "text.tmx": (TMX.format(LONG), "text.tmx:2:[0-9]+: text longer than 16 MiB"),
}


@pytest.mark.parametrize("read", [streamed, whole])
@pytest.mark.parametrize("name", TEXTS)
def test_a_long_line_or_cell_is_refused(name: str, read: Callable[[Path], None], tmp_path: Path) -> None:
    content, message = TEXTS[name]
    (tmp_path / name).write_text(content)
    refuses(message, read, tmp_path / name)


LONG_PART = "a" * (MAX_LINE // 3)
NOTE = f"<note>{LONG_PART}</note>"
# What makes a translation file too large for its reader -> the message.
PIECES = {
    "pieces of one text": (XLIFF.format(f"{LONG_PART}<x/>" * 4), "text longer than 16 MiB"),
    "texts of one unit": (XLIFF.format(f"a</source>{NOTE * 4}<source>b"), "text longer"),
    "an attribute": (XLIFF.replace('"1"', f'"{LONG}"').format("a"), "text longer than 16 MiB"),
    "a comment": (XLIFF.format(f"<!--{'a' * (20 << 20)}-->"), "text longer than 16 MiB"),
    "an instruction": (XLIFF.format(f"<?a {'a' * (20 << 20)}?>"), "text longer than 16 MiB"),
    "no tag for long": (XLIFF.format("a" * (80 << 20)), "text longer than 16 MiB"),
    "elements": (XLIFF.format("<x/>" * 10_000_000), "more than 200,000 elements in a unit"),
    "elements outside of units": (
        XLIFF.replace("<trans-unit", "<x/>" * 1_000_000 + "<trans-unit"),
        "elements in a unit, or between two",
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_too_many_pieces_are_refused_at_once(name: str, tmp_path: Path) -> None:
    content, message = PIECES[name]
    path = tmp_path / "a.xlf"
    path.write_text(content)
    begin = time.process_time()
    refuses(f"a.xlf:2(:[0-9]+)?: .*{message}", streamed, path)
    assert time.process_time() - begin < 10


def test_a_packed_file_of_one_long_text_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(XLIFF.partition("{}")[0].encode())
        for _ in range(1000):
            stream.write(b"a" * (1 << 20))
    begin = time.process_time()
    refuses("a.xlf.gz:2: text longer than 16 MiB", streamed, path)
    assert time.process_time() - begin < 5


def test_many_units_with_many_elements_each_are_read(tmp_path: Path) -> None:
    unit = '<trans-unit id="1"><source>a</source><target>b{}</target></trans-unit>'
    content = XLIFF.partition("<trans-unit")[0] + unit.format("<x/>" * 50_000) * 5 + "</body></file></xliff>"
    (tmp_path / "a.xlf").write_text(content)
    assert sum(1 for _ in open_input([tmp_path / "a.xlf"], LAYOUT).rows()) == 5


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_a_long_line_of_another_encoding_is_refused(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(f"source\ttarget\né\tb\n{LONG}\tb\n".encode(encoding))
    for read in (streamed, whole):
        refuses("a.tsv:3: line longer than 16 MiB", read, path)


def test_a_long_line_of_scores_or_tags_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text(f"1\n{LONG}\n")
    for read in (read_scores, read_tags, Reading(tmp_path).lines):
        refuses(":2: line longer than 16 MiB", read, path)


def test_an_export_of_one_long_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(f'[{{"data": "{LONG}"}}]\n')
    assert Reading(tmp_path).json(path) == [{"data": LONG}]


def parquet(path: Path, texts: Any, **options: Any) -> Path:
    pq.write_table(pa.table({"source": texts, "target": pa.array(["b"] * len(texts))}), path, **options)
    return path


@pytest.mark.parametrize("read", [streamed, whole])
def test_a_long_text_of_a_parquet_dictionary_is_refused_before_it_is_repeated(
    read: Callable[[Path], None], tmp_path: Path
) -> None:
    codes = pa.array([0] * 100 + [1] * 20_000, pa.int32())
    texts = pa.DictionaryArray.from_arrays(codes, pa.array(["short", "a" * (100 << 20)]))
    path = parquet(tmp_path / "a.parquet", texts, dictionary_pagesize_limit=1 << 30)
    assert path.stat().st_size < 20 << 20
    refuses("a.parquet:rows? .*cell of the column 'source' longer than 16 MiB", read, path)


def test_other_long_texts_of_parquet(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", pa.array(["b", LONG]), use_dictionary=False)
    refuses("cell of the column 'source' longer than 16 MiB", streamed, path)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array(["a" * (8 << 20)]))
    path = parquet(tmp_path / "b.parquet", texts, dictionary_pagesize_limit=1 << 30)
    rows = open_input([path], LAYOUT).rows()
    assert len(next(rows)[0]["source"]) == 8 << 20  # 3,000 such rows would not fit into memory
    assert sum(batch.num_rows for batch in pq.ParquetFile(path).iter_batches(columns=["target"])) == 3000


@pytest.mark.parametrize("read", [streamed, whole])
@pytest.mark.parametrize("kind", ["tsv", "csv", "parquet"])
def test_a_table_of_too_many_columns_is_refused_at_once(
    kind: str, read: Callable[[Path], None], tmp_path: Path
) -> None:
    path, names = tmp_path / f"a.{kind}", [f"c{i}" for i in range(100_000)]
    if kind == "parquet":
        pq.write_table(pa.table({name: ["x"] for name in names[:12_000]}), path)
    else:
        separator = "\t" if kind == "tsv" else ","
        path.write_text(separator.join(names) + "\n" + separator.join("x" for _ in names) + "\n")
    begin = time.process_time()
    refuses("00 columns; a table has at most 10,000", read, path)
    assert time.process_time() - begin < 20


LANGUAGES = {"source_language": "en", "target_language": "de"}
HTER = {**LANGUAGES, "label": "hter"}
# What takes a path -> what it is called with.
PATHS: dict[str, Callable[[Path], Any]] = {
    "a table": streamed,
    "a dataset": lambda path: make_format("table", {**HTER, "kind": "tsv"}).read(path),
    "a folder of MLQE-PE": lambda path: MlqePe().read(path),
    "a folder of WMT": lambda path: make_format("wmt_qe", LANGUAGES).read(path),
    "WMT12": lambda path: make_format("wmt12", {}).read(path),
    "a check": check,
    "terms": terms_of,
    "scores": read_scores,
    "tags": read_tags,
    "an export": lambda path: make_format("label_studio", HTER).read(path),
}


@pytest.mark.parametrize("reader", PATHS)
def test_a_loop_of_symbolic_links_is_an_input_error(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "loop.tsv"
    path.symlink_to(tmp_path / "loop.tsv")
    refuses(r"loop.tsv", PATHS[reader], path, error=qe.InputError)
