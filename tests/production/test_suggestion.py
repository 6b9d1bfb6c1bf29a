"""`qe suggest` on the demo's data."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qe.getting_started.demo.run import EXPERIMENT
from tests.factories import exit_code


@pytest.fixture
def options(demo_run: Any) -> list[object]:
    """Of the demo's experiment with a family that needs no resources."""
    return [
        EXPERIMENT, "--data-root", demo_run.output, "--set", "features=[surface]",
        "--set", "learner={kind: ridge}", "--cache-dir", demo_run.output / "cache",
    ]  # fmt: skip


@pytest.fixture
def pool(demo_run: Any, tmp_path: Path) -> Path:
    """The demo's test segments, two of them twice, a labelled one, and a row without a translation."""
    data = demo_run.output / "data"
    rows = [
        (f"t{i}", *pair)
        for i, pair in enumerate(zip(lines(data / "test.source"), lines(data / "test.target"), strict=True))
    ]
    labelled = ("labelled", lines(data / "train.source")[0], lines(data / "train.target")[0])
    rows = [rows[0], ("none", "a", ""), *rows, labelled]
    path = tmp_path / "pool.tsv"
    path.write_text("id\tsource\ttarget\n" + "".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return path


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.mark.parametrize("ending", ["tsv", "parquet", "csv.gz", "jsonl"])
@pytest.mark.capability
def test_a_table_of_what_to_annotate(
    ending: str, options: list[object], pool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / f"next.{ending}"
    assert exit_code("suggest", *options, "-i", pool, "-n", 7, "-o", output, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    given = pd.read_csv(pool, sep="\t", keep_default_na=False)
    assert told["suggested"] == 7 and told["refused"] == {"empty target": 1}
    unique = given[given.target != ""].drop_duplicates(["source", "target"])
    assert told["candidates"] == len(unique) - 1  # the labelled one
    read = {
        "tsv": lambda: pd.read_csv(output, sep="\t"),
        "parquet": lambda: pd.read_parquet(output),
        "csv.gz": lambda: pd.read_csv(output),
        "jsonl": lambda: pd.read_json(output, lines=True),
    }
    table = read[ending]()
    assert table["rank"].tolist() == list(range(1, 8)) and table["id"].is_unique
    assert not {"labelled", "none"} & set(table["id"])
    for row in table.itertuples():
        there = given.iloc[row.row - 1]
        assert (there["id"], there["source"], there["target"]) == (row.id, row.source, row.target)
    assert (table["uncertainty"] > 0).all()


def test_more_than_there_are(options: list[object], pool: Path, tmp_path: Path, capsys: Any) -> None:
    assert exit_code("suggest", *options, "-i", pool, "-n", 5000, "-o", tmp_path / "next.tsv", "--quiet") == 2
    assert "5000 segments are requested, but only" in capsys.readouterr().err
    assert not (tmp_path / "next.tsv").exists()
