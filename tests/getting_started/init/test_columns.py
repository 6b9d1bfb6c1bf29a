"""Numeric columns of a table of the user's: offered as features, or warned of."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qe.getting_started.init.table import Wishes, read_labelled


def notes(path: Path, **columns: object) -> list[str]:
    random = np.random.default_rng(5)
    score = random.random(40)
    table = {
        "source": [f"a {i}" for i in range(40)],
        "target": [f"b {i}" for i in range(40)],
        "score": score,
        "comet": score + random.normal(0, 0.1, 40),
        "noise": np.tile([1.0, 2.0], 20) * (np.argsort(np.argsort(score)) % 2 - 0.5),
        "engine": ["x"] * 40,
        **columns,
    }
    pd.DataFrame(table).to_csv(path / "t.tsv", sep="\t", index=False)
    wishes = Wishes(languages=("en", "de"), columns={"scores": "score"}, higher_is_better=True)
    labelled = read_labelled(path / "t.tsv", wishes)
    assert not labelled.split.segments.further
    return [note for note in labelled.notes if "column" in note]


def test_columns_that_correlate_are_offered(tmp_path: Path) -> None:
    (note,) = notes(tmp_path)
    assert note.startswith("columns that correlate with the label (Pearson): comet 0.9")
    assert note.endswith("add {kind: columns, names: [comet]} to the features")


@pytest.mark.parametrize("name", ["hter", "z_mean"])
def test_a_name_of_labels_is_warned_of(tmp_path: Path, name: str) -> None:
    found = notes(tmp_path, **{name: list(range(40))})
    assert f"the column '{name}' is the label in other words" in found[0] and len(found) == 2


def test_a_column_that_is_the_label_is_warned_of(tmp_path: Path) -> None:
    scaled = np.random.default_rng(5).random(40) * -100
    found = notes(tmp_path, percent=scaled)
    assert found[0].startswith("the column 'percent' is the label in other words (Pearson -1.00)")
    assert "percent" not in found[1]
