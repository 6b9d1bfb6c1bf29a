"""Weights of rows that stand in the data."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.config import experiment
from qe.data.dataset import Dataset
from qe.training.check import check
from qe.training.preparation import prepare
from tests.factories import refuses
from tests.training import several
from tests.training.several import section

TRUST = np.array([1.0, 0.0, 3.0, 2.0, 4.0, 2.0])


def made(folder: Path, weights: Any, **more: Any) -> experiment.Experiment:
    rows = [f"house {i}\tHaus {i}\t{i}\t{trust:g}" for i, trust in enumerate(TRUST)]
    (folder / "rows.tsv").write_text("\n".join(["source\ttarget\tscore\ttrust", *rows]) + "\n", "utf-8")
    (folder / "test.tsv").write_text("source\ttarget\tscore\na\tb\t1\n", "utf-8")
    dataset = section(".", splits={"train": "rows.tsv", "test": "test.tsv"})
    return several.made(folder, dataset, split={"folds": 2}, weights=weights, **more)


def weights_in(folder: Path, weights: Any, **more: Any) -> Any:
    prepared = prepare(check(made(folder, weights, **more)), folder / "cache")
    return prepared.learned(prepared.training)[1], prepared.dataset.notes


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    refuses("weights: the training rows have no column 'turst'", weights_in, tmp_path, {"column": "turst"})


def test_negative_weights_are_refused_with_their_line(tmp_path: Path) -> None:
    loaded = made(tmp_path, {"column": "trust"})
    text = (tmp_path / "rows.tsv").read_text("utf-8").replace("\t3\n", "\t-3\n", 1)
    (tmp_path / "rows.tsv").write_text(text, "utf-8")
    refuses(r"rows.tsv:4: the weight of the row", lambda: prepare(check(loaded), tmp_path / "cache"))


def test_a_frame_may_have_weights() -> None:
    table = pd.DataFrame({"src": ["a", "b"], "mt": ["c", "d"], "score": [1, 2], "row_weights": [0.5, 2]})
    told = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    split = Dataset.from_frame(table, **told).splits["train"]
    assert split.row_weights is not None and split.row_weights.tolist() == [0.5, 2]
    assert split.take([1]).row_weights.tolist() == [2]  # type: ignore[union-attr]
    with pytest.raises(
        InputError, match="'train':row 1: the weight of the row is -1, off the declared scale .0, inf"
    ):
        Dataset.from_frame(table.assign(row_weights=[-1, 2]), **told)


@pytest.mark.parametrize("text", ["1_0", "٣", "1e400"])
def test_numbers_in_text_are_those_that_people_write(text: str) -> None:
    table = pd.DataFrame({"src": ["a", "b"], "mt": ["c", "d"], "score": ["1", "2"], "row_weights": [1, "2"]})
    told = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    assert Dataset.from_frame(table, **told).splits["train"].row_weights is not None
    with pytest.raises(InputError, match="'train':row 2: the weight of the row is"):
        Dataset.from_frame(table.assign(row_weights=[1, text]), **told)
    with pytest.raises(InputError, match="'train':row 2: the label 'score' is"):
        Dataset.from_frame(table.assign(score=["1", text]), **told)


def test_a_feature_that_a_learner_names_must_be_one(tmp_path: Path) -> None:
    params = {"n_estimators": 5, "min_child_samples": 1, "monotone_constraints": {"sorce length": 1}}
    learner = {"kind": "lightgbm", "params": params, "space": {}}
    with pytest.raises(InputError, match="the learner 'lightgbm': unknown feature 'sorce length'"):
        prepare(check(made(tmp_path, "none", learner=learner)), tmp_path / "cache")


@pytest.mark.parametrize("power", [1, 2])
def test_a_column_of_a_table_weighs_rows(power: int, tmp_path: Path) -> None:
    weights, notes = weights_in(tmp_path, {"column": "trust"}, weight_power=power)
    np.testing.assert_allclose(weights, TRUST**power / (TRUST**power).mean())
    assert [note for note in notes if "no column 'trust' of row weights" in note and "test.tsv" in note]
