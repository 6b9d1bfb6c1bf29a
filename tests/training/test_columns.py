"""Columns of the table that features read by name, from the experiment to the feature tables of folds."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qe.config.experiment import Experiment
from qe.data.dataset import Dataset
from qe.training.check import check
from qe.training.preparation import feature_tables, prepare
from qe.training.reading import read_dataset
from qe.training.reporting import _headers
from tests.training.several import made, section

FEATURES = [{"kind": "columns", "names": ["comet"], "categories": ["engine"], "min_rows": 3}]
ROWS = 30


def frame(**changes: Any) -> pd.DataFrame:
    random = np.random.default_rng(1)
    columns = {
        "source": [f"a {i}" for i in range(ROWS)],
        "target": [f"b {i}" for i in range(ROWS)],
        "score": random.random(ROWS).round(3),
        "comet": random.random(ROWS).round(3),
        "engine": ["x" if i % 2 else "y" for i in range(ROWS)],
    }
    return pd.DataFrame(columns | changes)


def test_a_table_gives_the_columns_that_features_name(tmp_path: Path) -> None:
    table = frame()
    table.loc[3, ["comet", "engine"]] = None
    made = experiment(written(table, tmp_path / "t.tsv"))
    check(made)
    segments = read_dataset(made).split("train").segments
    assert set(segments.further) == {"comet", "engine"}
    assert segments.further["comet"][2:4] == (str(table["comet"][2]), "")
    table.to_parquet(tmp_path / "t.parquet", index=False)
    other = read_dataset(experiment(tmp_path / "t.parquet")).split("train").segments
    assert other.further == segments.further


def test_another_header_is_mapped_and_remembered(tmp_path: Path) -> None:
    path = written(frame().rename(columns={"comet": "COMET 22"}), tmp_path / "t.tsv")
    mapped = experiment(path, table_columns={"comet": "COMET 22"})
    assert "comet" in read_dataset(mapped).split("train").segments.further
    assert _headers(mapped.dataset.settings()) == {"comet": "COMET 22"}


def test_decimal_commas_are_read_as_in_labels(tmp_path: Path) -> None:
    table = frame(comet=[f"0,{i:02d}" for i in range(ROWS)])
    segments = read_dataset(experiment(written(table, tmp_path / "t.tsv"))).split("train").segments
    assert segments.further["comet"][:2] == ("0.00", "0.01")


def test_an_optional_column_may_be_absent(tmp_path: Path) -> None:
    path = written(frame().drop(columns="comet"), tmp_path / "t.tsv")
    made = experiment(path, [{**FEATURES[0], "optional": ["comet"]}])
    prepared = prepare(check(made), tmp_path / "cache")
    table = prepared.training_table()
    assert table["column_comet"].isna().all() and (table["column_comet_missing"] == 1).all()


def test_values_of_categories_are_learned_in_the_fold(tmp_path: Path) -> None:
    engines = ["z"] * 3 + ["x"] * 14 + ["y"] * 13
    made = experiment(written(frame(engine=engines), tmp_path / "t.tsv"))
    made = made.model_copy(
        update={"split": made.split.model_copy(update={"fold_by": "contiguous", "folds": 5})}
    )
    prepared = prepare(check(made), tmp_path / "cache")
    names = prepared.extraction.feature_set.names
    assert names[2:] == [
        *(f"column_engine={name}" for name in ("x", "y", "z", "other")),
        "column_engine_missing",
    ]
    first = feature_tables(prepared)[0].test
    assert (first["column_engine=other"].to_numpy()[:3] == 1).all()  # no training row of this fold has it
    assert not first["column_engine=z"].any()


def test_columns_of_a_frame() -> None:
    table = frame(engine=[None, *frame()["engine"][1:]])
    languages = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    dataset = Dataset.from_frame(table, "score", columns=["comet", "engine"], **languages)  # type: ignore[arg-type]
    assert dataset.split("train").segments.further["engine"][:2] == ("", "x")
    assert not Dataset.from_frame(table, "score", **languages).split("train").segments.further  # type: ignore[arg-type]


def experiment(path: Path, features: list[dict[str, Any]] | None = None, **more: Any) -> Experiment:
    label = {"name": "score", "low": 0, "high": 1, "higher_is_better": True}
    return made(path.parent, section(str(path), label=label, **more), features=features or FEATURES)


def written(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(path, sep="\t", index=False)
    return path
