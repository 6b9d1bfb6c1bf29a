"""Trees walked here give what LightGBM gives, to the last bit."""

import re

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from features.storage.boosted_trees import check_trees
from features.storage.damage import Damaged
from features.word_level.trees import TreeWalks, _rounded_down, fit_trees, load_trees, tree_probability
from tests.factories import refuses

Matrix = NDArray[np.float32]


def table(rng: np.random.Generator, rows: int, columns: int, missing: float) -> Matrix:
    """Some columns of few values, so that rows stand at thresholds; one without missing values."""
    values = rng.normal(size=(rows, columns)).astype(np.float32)
    values[:, ::2] = np.round(values[:, ::2] * 2) / 2
    values[:, 1:][rng.random((rows, columns - 1)) < missing] = np.nan
    return values


def trained(seed: int, missing: float, rounds: int = 12) -> str:
    rng = np.random.default_rng(seed)
    values = table(rng, 600, 7, missing)
    bad = np.nan_to_num(values).sum(axis=1) + rng.normal(size=600) > 0.5
    return fit_trees(values, bad, rounds=rounds, seed=seed, leaves=8)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.3]), st.integers(0, 21))
def test_sums_and_probabilities_are_lightgbms(seed: int, missing: float, new: float, rows: int) -> None:
    """With and without missing values in training and afterwards, for any number of rows."""
    text = trained(seed, missing)
    check_trees(text)
    walks, booster = load_trees(text), lightgbm.Booster(model_str=text)
    values = table(np.random.default_rng(seed + 1), rows, 7, new)
    if rows:
        values[0] = np.nan
        values[-1] = np.inf
        np.testing.assert_array_equal(walks.sums(values), booster.predict(values, raw_score=True))
        np.testing.assert_array_equal(tree_probability(walks, values), booster.predict(values))
    else:
        assert len(tree_probability(walks, values)) == 0


def test_trees_without_splits() -> None:
    """Labels that no column explains: every tree is one leaf, or there is none."""
    values = np.zeros((100, 3), np.float32)
    text = fit_trees(values, np.arange(100) % 4 == 0, rounds=3, seed=0)
    expected = lightgbm.Booster(model_str=text).predict(values[:5])
    np.testing.assert_array_equal(tree_probability(load_trees(text), values[:5]), expected)


@given(st.floats(allow_nan=False, width=64), st.floats(allow_nan=False, width=32))
def test_a_single_precision_threshold_parts_alike(exact: float, value: float) -> None:
    limit = _rounded_down(np.array([exact]))[0]
    with np.errstate(over="ignore"):
        above = np.nextafter(limit, np.float32(np.inf))
    for near in (value, limit, above):
        assert (np.float64(near) <= exact) == bool(np.float32(near) <= limit)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("objective=binary sigmoid:1", "objective=regression", "objective is not"),
        ("is_linear=0", "is_linear=1", "linear leaves"),
        (r"decision_type=\d+", "decision_type=4", "zeros for missing"),
    ],
)
def test_trees_that_are_walked_otherwise_are_damage(old: str, new: str, problem: str) -> None:
    text = trained(0, 0.2, rounds=2)
    damaged = re.sub(old, new, text, count=1)
    assert damaged != text
    refuses(problem, TreeWalks.from_text, damaged, error=Damaged)
    refuses("the trees of a model of words are damaged", load_trees, damaged)
