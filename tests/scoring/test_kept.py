"""The input's columns stay in the output, under the names that they have."""

import csv
import datetime
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from features.basics.errors import InputError
from qe.data.table_rows import open_input, read_rows
from qe.data.writing import arrow_table
from qe.scoring.row_formats import KeptColumns, Names
from tests.factories import refuses, score_file

PAIRS = [("mi dol", "ka tel"), ("sun ra", "lo pim")]
NAMES = {"source": "src", "target": "mt"}


def scores(model: Path, folder: Path) -> list[str]:
    """What the pairs score without anything kept."""
    path = folder / "plain.tsv"
    path.write_text("source\ttarget\n" + "".join(f"{s}\t{t}\n" for s, t in PAIRS))
    score_file(model, [path], folder / "plain.out.tsv", workers=1)
    return [row["score"] for row, _ in read_rows(folder / "plain.out.tsv")]


def test_all_columns_of_a_tsv_stay_before_the_score(demo_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.tsv"
    lines = ["client\tsrc\tmt\tnote", 'a\tmi dol\tka tel\t"so', "b\tsun ra\tlo pim\t 3.10 "]
    path.write_text("\n".join(lines) + "\nc\tsun ra\n")
    score_file(demo_model, [path], tmp_path / "out.tsv", columns=NAMES, keep=True, workers=1)
    one, two = scores(demo_model, tmp_path)
    assert (tmp_path / "out.tsv").read_text().splitlines() == [
        lines[0] + "\tid\tscore\treason",
        f"{lines[1]}\t1\t{one}\t",
        f"{lines[2]}\t2\t{two}\t",
        "c\tsun ra\t\t\t3\t\t2 fields where the header has 4",
    ]


def test_csv_keeps_commas_quotes_and_line_ends(demo_model: Path, tmp_path: Path) -> None:
    rows = [["id", "no,te", "source", "target"], ["7", 'a "b",\nc', *PAIRS[0]]]
    with (tmp_path / "in.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    score_file(demo_model, [tmp_path / "in.csv"], tmp_path / "out.csv", keep=True, workers=1)
    back = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text())))
    one = scores(demo_model, tmp_path)[0]
    assert back == [[*rows[0], "score", "reason"], [*rows[1], one, ""]]


def test_jsonl_keeps_values_and_the_keys_of_every_row(demo_model: Path, tmp_path: Path) -> None:
    source, target = PAIRS[0]
    rows = [
        {"src": source, "mt": target, "n": 1, "deep": {"a": [1.5, None, True]}},
        {"mt": target, "src": source, "odd": "\ud800", "é": "é"},
        {"src": "", "mt": "x"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "[1]\n")
    score_file(demo_model, [tmp_path / "in.jsonl"], tmp_path / "o.jsonl", columns=NAMES, keep=True, workers=1)
    back = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    one = float(scores(demo_model, tmp_path)[0])
    assert back[0] == {**rows[0], "id": "1", "score": one, "reason": ""}
    assert back[1] == {**rows[1], "id": "2", "score": one, "reason": ""}
    assert back[2] == {**rows[2], "id": "3", "score": None, "reason": "empty source"}
    assert back[3] == {"id": "4", "score": None, "reason": "not a JSON object"}


def test_parquet_keeps_its_types(demo_model: Path, tmp_path: Path) -> None:
    day = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "source": pa.array([s for s, _ in PAIRS]),
            "raw": pa.array([b"\x00\xff", None], pa.binary()),
            "when": pa.array([day, None], pa.timestamp("us", "UTC")),
            "tags": pa.array([["a"], []], pa.list_(pa.string())),
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "small": pa.array([1, None], pa.int8()),
            "target": pa.array([t for _, t in PAIRS], pa.large_string()),
        }
    )
    path = tmp_path / "in.parquet"
    pq.write_table(table, path)
    score_file(demo_model, [path], tmp_path / "o.parquet", keep=True, workers=1, chunk=1)
    back = pq.read_table(tmp_path / "o.parquet")
    kept, first = back.select(table.column_names), pq.read_table(path)
    assert kept.schema.types == first.schema.types and kept.to_pylist() == first.to_pylist()
    assert back.column_names[7:] == ["id", "score", "reason"]
    refuses("'raw' .*Parquet", score_file, demo_model, [path], tmp_path / "o.tsv", keep=True)


def test_jsonl_becomes_a_table_with_the_types_that_its_values_share(tmp_path: Path) -> None:
    rows = ['{"a": 1, "b": 1, "c": true, "d": null}', '{"a": 2, "b": 2.5, "e": [1, "\\ud800"]}']
    (tmp_path / "in.jsonl").write_text("\n".join(rows) + "\n")
    source = open_input([tmp_path / "in.jsonl"])
    kept = KeptColumns.make(source.types, ("id", "score", "reason"), "parquet", "id", source.path)
    assert {name: str(of) for name, of in kept.types.items()} == {
        "a": "int64", "b": "string", "c": "bool", "d": "string", "e": "string",
    }  # fmt: skip
    made = {"id": "1", "score": 0.5, "reason": ""}
    merged = [kept.merged(row, made) for row, _ in read_rows(tmp_path / "in.jsonl")]
    back = arrow_table(merged, kept.column_types).to_pylist()
    assert back[0] == {"a": 1, "b": "1", "c": True, "d": None, "e": None, **made}
    assert back[1] == {"a": 2, "b": "2.5", "c": None, "d": None, "e": '[1, "\\ud800"]', **made}


def test_an_id_that_cannot_be_written_is_a_reason_under_any_header() -> None:
    view, reason = Names({"id": "key"}).view(({"key": {"a": 1}, "source": "a"}, ""))
    assert reason == "the id is neither text nor a number" and view["id"] is None


@pytest.mark.parametrize("name", ["out.tsv", "out.csv.gz", "out.jsonl", "out.parquet"])
def test_kept_columns_do_not_depend_on_workers_chunks_or_a_resume(
    demo_model: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qe.scoring.jobs import _Job

    path = tmp_path / "in.jsonl"
    rows = [{"src": s, "mt": t, "n": i, "x": [i]} for i, (s, t) in enumerate(PAIRS * 8)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    score_file(demo_model, [path], tmp_path / name, columns=NAMES, keep=True, workers=1, chunk=3)
    first = (tmp_path / name).read_bytes()
    other = tmp_path / f"again.{name}"
    score_file(demo_model, [path], other, columns=NAMES, keep=True, workers=2, chunk=3)
    assert other.read_bytes() == first
    with monkeypatch.context() as patch:  # stopped before the pieces are joined
        patch.setattr(_Job, "tally", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            score_file(
                demo_model, [path], other, columns=NAMES, keep=True, workers=1, chunk=3, overwrite=True
            )
    for changed in ({"keep": False}, {"columns": {**NAMES, "id": "n"}}):
        with pytest.raises(InputError, match="begun with .*other options"):
            score_file(
                demo_model, [path], other, **{"columns": NAMES, "keep": True, **changed},  # type: ignore[arg-type]
                workers=1, chunk=3, resume=True,
            )  # fmt: skip
    summary = score_file(demo_model, [path], other, columns=NAMES, keep=True, workers=1, chunk=3, resume=True)
    assert summary.resumed_chunks == 6 and other.read_bytes() == first
