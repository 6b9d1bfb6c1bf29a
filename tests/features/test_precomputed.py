"""Feature files of other programs: read as they are, or refused with file and line."""

import gzip
from pathlib import Path

import numpy as np

from features.baseline17 import COLUMNS
from features.core.feature_set import FeatureSet, make_extractor
from features.precomputed import Precomputed
from tests.factories import Find, refuses, segments


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8", newline="")
    return path


def test_rows_belong_to_segments_by_id(tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", "1\t2\t\n3\tNaN\t\n5\t6\t\n")
    dev = tmp_path / "dev.tsv.gz"
    dev.write_bytes(gzip.compress(b"7\t8\r\n"))
    made = Precomputed({"train": train, "dev-2": dev}, ["x", "y"])
    assert made.names == ("x", "y")
    values = made.extract(segments(id=["train-3", "dev-2-1", "train-1", "train-2"]))
    np.testing.assert_array_equal(values, [[5, 6], [7, 8], [1, 2], [3, np.nan]])


def test_official_files(shared_data: Find) -> None:
    folder = shared_data("wmt12-qe/baseline_features")
    files = {"train": folder / "training.tsv", "test": folder / "test.tsv"}
    made = make_extractor(
        {"kind": "precomputed", "files": files, "columns": "baseline17", "prefix": "official_"}, None
    )
    assert made.names == tuple(f"official_{column.name}" for column in COLUMNS)
    ids = [f"{split}-{n}" for split, rows in (("train", 1832), ("test", 422)) for n in range(1, rows + 1)]
    whole = made.extract(segments(id=ids))
    assert whole[0, 3] == -33.1599 and whole.shape == (2254, 17)
    np.testing.assert_array_equal(whole[:1832], np.genfromtxt(files["train"], delimiter="\t")[:, :17])


def test_names_in_the_first_line(tmp_path: Path) -> None:
    files = {
        "train": write(tmp_path / "a", "length\tscore\n1\t2\n"),
        "test": write(tmp_path / "b", "length\tscore\n3\t4\n"),
    }
    made = Precomputed(files, "header", prefix="old_")
    assert made.names == ("old_length", "old_score")
    assert made.extract(segments(id=["test-1", "train-1"])).tolist() == [[3, 4], [1, 2]]
    write(tmp_path / "b", "score\tlength\n3\t4\n")
    refuses("b:1", lambda: Precomputed(files, "header").names)


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    config = {"kind": "precomputed", "files": {"train": str(tmp_path / "f")}, "columns": ["x"]}
    write(tmp_path / "f", "1\n")
    before = FeatureSet.make([config], None).fingerprint
    assert FeatureSet.make([config], None).fingerprint == before
    write(tmp_path / "f", "2\n")
    assert FeatureSet.make([config], None).fingerprint != before
