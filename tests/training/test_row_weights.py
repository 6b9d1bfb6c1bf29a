"""Weights of rows that stand in the data."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe.config import experiment
from qe.data.dataset import Dataset
from qe.training.check import check
from qe.training.preparation import prepare
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


def test_a_frame_may_have_weights() -> None:
    table = pd.DataFrame({"src": ["a", "b"], "mt": ["c", "d"], "score": [1, 2], "row_weights": [0.5, 2]})
    told = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    split = Dataset.from_frame(table, **told).splits["train"]
    assert split.row_weights is not None and split.row_weights.tolist() == [0.5, 2]
    assert split.take([1]).row_weights.tolist() == [2]  # type: ignore[union-attr]
    texts = table.assign(score=["1", "2"], row_weights=[0.5, "2"])
    assert Dataset.from_frame(texts, **told).splits["train"].row_weights is not None


@pytest.mark.parametrize("power", [1, 2])
def test_a_column_of_a_table_weighs_rows(power: int, tmp_path: Path) -> None:
    weights, notes = weights_in(tmp_path, {"column": "trust"}, weight_power=power)
    np.testing.assert_allclose(weights, TRUST**power / (TRUST**power).mean())
    assert [note for note in notes if "no column 'trust' of row weights" in note and "test.tsv" in note]
