"""`qe score --documents`: means by document, as pandas computes them from the scored file."""

from pathlib import Path

import pandas as pd
import pytest

from tests.factories import exit_code


@pytest.fixture
def rows(demo_model: Path, tmp_path: Path) -> Path:
    """Twenty rows of the demo in four documents, and two rows without a translation."""
    table = pd.read_csv(demo_model.parent / "data" / "new.tsv", sep="\t", quoting=3, dtype=str).head(20)
    table["document"] = [f"d{i % 4}" for i in range(20)]
    more = pd.DataFrame({"id": ["x", "y"], "source": "the house", "target": "", "document": ["d1", "empty"]})
    pd.concat([table, more]).to_csv(tmp_path / "rows.tsv", sep="\t", index=False, quoting=3)
    return tmp_path / "rows.tsv"


def scored(model: Path, *arguments: str | Path) -> int:
    return exit_code("score", "--model", model, *arguments, "--workers", "1")


def expected(rows: Path, scores: pd.Series) -> pd.DataFrame:
    documents = pd.read_csv(rows, sep="\t", quoting=3, dtype=str)["document"]
    grouped = scores.groupby(documents, sort=False)
    return pd.DataFrame({"score": grouped.mean(), "segments": grouped.size(), "scored": grouped.count()})


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "parquet", "tsv.gz"])
def test_documents_have_the_means_of_their_segments(
    demo_model: Path, rows: Path, tmp_path: Path, ending: str
) -> None:
    output, documents = tmp_path / f"scores.{ending}", tmp_path / "documents.csv"
    given = ("--input", rows, "--output", output, "--documents", documents, "--keep", "--suffix", "_qe")
    assert scored(demo_model, *given, "--chunk", "6") == 0
    if ending == "parquet":
        table = pd.read_parquet(output)
    elif ending == "jsonl":
        table = pd.read_json(output, lines=True)
    else:
        table = pd.read_csv(output, sep="," if ending == "csv" else "\t", quoting=0 if ending == "csv" else 3)
    told = pd.read_csv(documents, index_col="document")
    pd.testing.assert_frame_equal(told, expected(rows, table["score_qe"]))
    assert told.loc["d1"].tolist()[1:] == [6, 5] and told.isna().loc["empty", "score"]


def test_two_texts_take_documents_from_a_file(demo_model: Path, rows: Path, tmp_path: Path) -> None:
    table = pd.read_csv(rows, sep="\t", quoting=3, dtype=str).fillna("")
    for name in ("source", "target", "document"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in table[name]), "utf-8")
    output, documents = tmp_path / "scores.tsv", tmp_path / "documents.tsv"
    sides = ("--input", tmp_path / "source.txt", "--input", tmp_path / "target.txt", "--output", output)
    assert scored(demo_model, *sides, "--documents", documents) == 2
    assert not output.exists()
    ids = ("--doc-ids", tmp_path / "document.txt")
    assert scored(demo_model, *sides, "--documents", documents, *ids) == 0
    told = pd.read_csv(documents, sep="\t", index_col="document")
    scores = pd.read_csv(output, sep="\t")["score"]
    pd.testing.assert_frame_equal(told, expected(rows, scores))
