"""Models of words whose files are sound one by one, and do not go together."""

import json
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

from features.storage.damage import Damaged
from features.word_level.columns import same_width
from features.word_level.pooling import PoolingNetwork, random_beginning
from features.word_level.training_text import load_used, save_used
from features.word_level.trees import fit_trees, load_trees, tree_probability
from tests.factories import refuses


def test_columns_that_were_read_are_known(tmp_path: Path) -> None:
    save_used(frozenset(["pseudo_reference"]), tmp_path)
    assert load_used(tmp_path) == {"pseudo_reference"}


@pytest.mark.parametrize(
    "used", [["x"], "pseudo_reference", [7], {"pseudo_reference": 1}, [["annotation_source"]]]
)
def test_columns_that_nobody_reads_are_damage(used: Any, tmp_path: Path) -> None:
    (tmp_path / "used.json").write_text(json.dumps(used), "utf-8")
    refuses("names columns that are not read; known: annotation_source", load_used, tmp_path, error=Damaged)


def test_a_model_takes_the_columns_that_are_made() -> None:
    same_width(3, 3)
    refuses("is damaged: it takes 4 columns, but there are 3", same_width, 3, 4)


def test_what_lies_behind_trees_is_not_read() -> None:
    """LightGBM reads settings of training there, and crashes on some."""
    rng = np.random.default_rng(0)
    values = rng.random((200, 2), np.float32)
    text = fit_trees(values, rng.random(200) < 0.5, rounds=2, seed=0)
    whole = lightgbm.Booster(model_str=text).predict(values)
    damaged = text.replace("pandas_categorical:null", "pandas_categorical:[1")
    assert damaged != text and np.array_equal(tree_probability(load_trees(damaged), values), whole)
    refuses("the trees of a model of words are damaged", load_trees, "tree")


def test_weights_that_would_overflow_are_damage() -> None:
    parameters = random_beginning(np.random.default_rng(0), 3, 2)
    PoolingNetwork(parameters).check_arrays()
    parameters["text"][0, 0] = 1e30
    refuses("`text` must hold numbers from", PoolingNetwork(parameters).check_arrays, error=Damaged)
