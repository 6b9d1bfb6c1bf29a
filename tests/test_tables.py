"""Tables of new translations: every row comes back, whatever the kind."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from features.core.errors import InputError
from qe import tables

ROWS = [
    {"id": "a", "source": 'A "quoted" house', "target": "Una casa, 'así'"},
    {"id": "b", "source": "line sep x", "target": "ñandú"},
]


def written(path: Path) -> Path:
    frame = pd.DataFrame(ROWS)
    kind = tables.kind_of(path)
    if kind == "parquet":
        frame.to_parquet(path)
        return path
    text = {
        "csv": frame.to_csv(index=False),
        "jsonl": frame.to_json(orient="records", lines=True, force_ascii=False),
        "tsv": "id\tsource\ttarget\n" + "".join("\t".join(r.values()) + "\n" for r in ROWS),
    }[kind]
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    "name", ["x.tsv", "x.csv", "x.jsonl", "x.parquet", "x.tsv.gz", "x.csv.gz", "x.jsonl.gz"]
)
def test_every_kind_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name)
    assert list(tables.read_rows(path)) == [(row, "") for row in ROWS]
    assert tables.columns_of(path) in (["id", "source", "target"], None)


def test_crlf_bom_and_a_missing_final_newline_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes("﻿source\ttarget\r\na\tb\r\nc\td".encode())
    assert [row for row, _ in tables.read_rows(path)] == [
        {"source": "a", "target": "b"},
        {"source": "c", "target": "d"},
    ]


def test_a_bad_row_stays_in_its_place_with_a_reason(tmp_path: Path) -> None:
    tsv = tmp_path / "x.tsv"
    tsv.write_text("source\ttarget\na\tb\nonly one\nc\td\n")
    assert [reason for _, reason in tables.read_rows(tsv)] == ["", "1 fields where the header has 2", ""]
    jsonl = tmp_path / "x.jsonl"
    jsonl.write_text('{"source": "a", "target": "b"}\n{broken\n[1]\n')
    reasons = [reason for _, reason in tables.read_rows(jsonl)]
    assert reasons[0] == "" and "not valid JSON" in reasons[1] and reasons[2] == "not a JSON object"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.xlsx", b"", "cannot tell the kind of table from the ending 'xlsx'; known: tsv, csv"),
        ("x.tsv", b"", "is empty"),
        ("x.tsv", b"a\ta\n", "names \\['a'\\] more than once"),
        ("x.tsv", b"a\tb\n\xff\tc\n", "x.tsv:2: not UTF-8"),
        ("x.csv", b'a,b\n"x"y,z\n', "x.csv:2: not valid CSV"),
        ("x.parquet", b"no", "not a Parquet file"),
    ],
)
def test_an_unreadable_file_is_an_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(tables.read_rows(path))


def test_parallel_files_of_different_length_are_named_with_their_counts(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("a\nb\nc\n")
    target.write_text("x\n")
    with pytest.raises(InputError, match=f"{target} has 1 and {source} has 3"):
        list(tables.read_parallel(source, target))


@pytest.mark.parametrize("kind", tables.KINDS)
def test_pieces_join_to_the_same_bytes_however_they_are_cut(tmp_path: Path, kind: tables.Kind) -> None:
    rows = [
        {"id": str(i), "score": i / 3 if i % 4 else None, "reason": "" if i % 4 else "a\tb"} for i in range(9)
    ]
    columns = ("id", "score", "reason")
    pieces = []
    for n, start in enumerate(range(0, 9, 3)):
        piece = tmp_path / f"{n}.piece"
        piece.write_bytes(tables.encode(rows[start : start + 3], columns, kind))
        pieces.append(piece)
    for name in ("one", "two"):
        tables.join(pieces, tmp_path / name, columns, kind, gzipped=False)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    back = tmp_path / f"out.{kind}"
    (tmp_path / "one").rename(back)
    read = [row for row, _ in tables.read_rows(back)]
    assert len(read) == 9 and [r["id"] for r in read] == [str(i) for i in range(9)]
    assert float(read[1]["score"]) == 1 / 3
