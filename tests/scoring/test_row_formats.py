"""Tables of new translations: every row comes back, whatever the kind."""

import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qe.data.table_rows import Row, open_input, read_rows
from qe.data.writing import KINDS, Kind, encode, kind_of, table_writer

ROWS = [
    {"id": "a", "source": 'A "quoted" house', "target": "Una casa, 'así'"},
    {"id": "b", "source": "line sep x", "target": "ñandú"},
]


def sample_of(path: Path) -> Path:
    frame = pd.DataFrame(ROWS)
    kind = kind_of(path)
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
    path = sample_of(tmp_path / name)
    assert list(read_rows(path)) == [(row, "") for row in ROWS]
    given = open_input([path])
    assert given.columns in (["id", "source", "target"], None)
    assert list(given.types) == ["id", "source", "target"] and given.count() == len(ROWS)


def test_a_bad_row_stays_in_its_place_with_a_reason(tmp_path: Path) -> None:
    tsv = tmp_path / "x.tsv"
    tsv.write_text("source\ttarget\na\tb\nonly one\nc\td\n")
    assert [reason for _, reason in read_rows(tsv)] == ["", "1 fields where the header has 2", ""]
    jsonl = tmp_path / "x.jsonl"
    jsonl.write_text('{"source": "a", "target": "b"}\n{broken\n[1]\n')
    reasons = [reason for _, reason in read_rows(jsonl)]
    assert reasons[0] == "" and "not valid JSON" in reasons[1] and reasons[2] == "not a JSON object"


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_join_to_the_same_bytes_however_they_are_cut(tmp_path: Path, kind: Kind) -> None:
    rows = [
        {"id": str(i), "score": i / 3 if i % 4 else None, "reason": "" if i % 4 else "a\tb"} for i in range(9)
    ]
    columns = {"id": pa.string(), "score": pa.float64(), "reason": pa.string()}
    back, again = tmp_path / f"out.{kind}", tmp_path / f"again.{kind}"
    for path in (back, again):
        with table_writer(path, path, columns) as write:
            for start in range(0, 9, 3):
                write(encode(rows[start : start + 3], columns, kind))
    assert back.read_bytes() == again.read_bytes()
    read = [row for row, _ in read_rows(back)]
    assert len(read) == 9 and [r["id"] for r in read] == [str(i) for i in range(9)]
    assert float(read[1]["score"]) == 1 / 3


def rows_of_file(path: Path, content: bytes) -> list[Row]:
    path.write_bytes(content)
    return list(read_rows(path))


def test_json_that_python_cannot_hold_is_a_row_with_a_reason(tmp_path: Path) -> None:
    lines = [
        b'{"id": "\\ud800", "source": "a", "target": "b"}',
        b'{"id": ' + b"9" * 5000 + b', "source": "a", "target": "b"}',
        b'{"id": ' + b"[" * 100_000,
        b'{"id": [1], "source": "a", "target": "b"}',
        b'{"id": 5, "source": "a", "target": "b"}',
    ]
    rows = rows_of_file(tmp_path / "a.jsonl", b"\n".join(lines) + b"\n")
    assert [reason for _, reason in rows] == [
        "the id holds half a surrogate pair",
        "not valid JSON (a whole number of too many digits)",
        "not valid JSON (nested too deeply)",
        "the id is neither text nor a number",
        "",
    ]
    assert [row.get("id") for row, _ in rows] == [None, None, None, None, 5]


def parquet(path: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_values_of_parquet_that_python_lacks_leave_the_other_rows(tmp_path: Path) -> None:
    days = pa.array([0, 2**30], pa.int32()).cast(pa.date32())
    rows = list(read_rows(parquet(tmp_path / "a.parquet", source=["a", "b"], target=["c", "d"], when=days)))
    assert [reason for _, reason in rows] == ["", ""] and rows[1][0]["when"] is None
    buffers = [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"\xff\xfeb")]
    bad = pa.Array.from_buffers(pa.string(), 2, buffers)
    rows = list(read_rows(parquet(tmp_path / "b.parquet", source=bad, target=["x", "y"])))
    assert rows[0][1].startswith("source cannot be read") and rows[1] == ({"source": "b", "target": "y"}, "")


def test_ids_are_written_as_they_stand_in_json(tmp_path: Path) -> None:
    """`1e400` is beyond every float, and no infinity; `1.10` stays what it is."""
    ids = ["1e400", "-1E-400", "1.10", "12345678901234567890123", '"a"', "NaN"]
    (tmp_path / "in.jsonl").write_text("".join(f'{{"id": {i}, "source": "a", "target": "b"}}\n' for i in ids))
    rows = list(read_rows(tmp_path / "in.jsonl"))
    assert [str(row["id"]) for row, _ in rows[:5]] == [*ids[:4], "a"]
    assert rows[5][1] == "the id is neither text nor a number"
