"""M5P against Weka 3.9 (golden/weka-m5p), and the laws a model tree obeys."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.basics.array_types import FloatArray
from qe.learning.elimination import fit_by_elimination
from qe.learning.learners.m5p import M5PRegressor
from tests.factories import Find

NAMES = [f"bf{i}" for i in range(1, 18)]
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "unsmoothed": {"smoothing": False},
    "min20": {"min_instances": 20},
    "regression_tree": {"regression_tree": True},
}


@pytest.fixture(scope="module")
def wmt12(shared_data: Find) -> tuple[FloatArray, FloatArray]:
    X = np.loadtxt(shared_data("wmt12-qe/baseline_features/training.tsv"))
    y = np.loadtxt(shared_data("wmt12-qe/training_set_annotations/target_system.effort"))
    return X, y


def weka_splits(printout: str) -> list[tuple[str, float, int | None]]:
    """(attribute, value, segments if the left child is a leaf) of each split, in preorder."""
    matches = re.findall(r"(bf\d+) <= (-?[\d.]+) :(?: LM\d+ \((\d+)/)?", printout)
    return [(name, float(value), int(n) if n else None) for name, value, n in matches]


def our_splits(tree: M5PRegressor) -> list[tuple[str, float, int | None]]:
    collected: list[tuple[str, float, int | None]] = []
    for node in np.flatnonzero(tree.feature_ >= 0):
        left = tree.left_[node]
        segments = int(tree.n_segments_[left]) if tree.feature_[left] < 0 else None
        collected.append((NAMES[tree.feature_[node]], round(float(tree.threshold_[node]), 3), segments))
    return collected


@pytest.mark.parametrize("name", OPTIONS)
def test_weka(name: str, wmt12: tuple[FloatArray, FloatArray], shared_data: Find) -> None:
    X, y = wmt12
    tree = M5PRegressor(**OPTIONS[name]).fit(X[:1300], y[:1300])
    printout = shared_data(f"golden/weka-m5p/m5p_{name}.model").read_text()
    assert tree.n_leaves_ == int(printout.split("Number of Rules :")[1])
    assert our_splits(tree) == weka_splits(printout)
    weka = np.loadtxt(shared_data(f"golden/weka-m5p/m5p_{name}.pred"))
    np.testing.assert_allclose(tree.predict(X[1300:]), weka, atol=1e-7)


def test_weka_leaf_errors(wmt12: tuple[FloatArray, FloatArray], shared_data: Find) -> None:
    X, y = wmt12
    tree = M5PRegressor(min_instances=20).fit(X[:1300], y[:1300])
    shares = 100 * tree.error_[tree.feature_ < 0] / tree.label_deviation_
    printout = shared_data("golden/weka-m5p/m5p_min20.model").read_text()
    np.testing.assert_allclose(shares, [float(x) for x in re.findall(r"/([\d.]+)%\)", printout)], atol=5e-4)


def test_weka_unpruned(wmt12: tuple[FloatArray, FloatArray], shared_data: Find) -> None:
    """In nodes of a few segments many splits are equally good; rounding decides, in Weka and here."""
    X, y = wmt12
    tree = M5PRegressor(pruning=False).fit(X[:1300], y[:1300])
    weka = np.loadtxt(shared_data("golden/weka-m5p/m5p_unpruned.pred"))
    assert tree.n_leaves_ == 550
    assert np.corrcoef(tree.predict(X[1300:]), weka)[0, 1] > 0.99


def test_description_is_the_model(wmt12: tuple[FloatArray, FloatArray]) -> None:
    X, y = wmt12
    tree = M5PRegressor().fit(X[:1300], y[:1300])
    text = tree.describe(NAMES, "effort")
    assert "bf4 <= -66.7237 : LM1 (674 segments, error 74.0 % of the deviation)" in text
    equation = text.split("LM2: effort = ")[1].replace("\n", "")
    row = X[np.flatnonzero(X[:, 3] > -66.7237)[0]]
    value = eval(equation, {"__builtins__": {}}, dict(zip(NAMES, row.tolist(), strict=True)))
    assert value == pytest.approx(tree.predict(row[None])[0], abs=0.05)


def naive_elimination(X: FloatArray, y: FloatArray) -> list[int]:
    """The same procedure with a fresh least-squares fit at each step."""

    def fit(columns: list[int]) -> tuple[FloatArray, float]:
        Z = X[:, columns] - X[:, columns].mean(axis=0)
        beta = np.linalg.lstsq(Z, y - y.mean(), rcond=None)[0]
        return beta * X[:, columns].std(axis=0) / y.std(), float(((y - y.mean() - Z @ beta) ** 2).sum())

    columns = list(range(X.shape[1]))
    while len(columns) and np.abs(fit(columns)[0]).max() > 1.5:
        columns.pop(int(np.abs(fit(columns)[0]).argmax()))
    n, p, full = len(y), len(columns) + 1, fit(columns)[1]
    best = n + p
    while columns:
        rest = [c for i, c in enumerate(columns) if i != np.abs(fit(columns)[0]).argmin()]
        value = fit(rest)[1] / full * (n - p) + 2 * (len(rest) + 1)
        if value >= best:
            break
        best, columns = value, rest
    return columns


@given(st.integers(0, 10_000), st.integers(1, 8))
@settings(max_examples=30)
def test_elimination(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, width)) @ rng.normal(size=(width, width))
    y = X @ rng.normal(size=width) * rng.choice([0, 0.3]) + rng.normal(size=40)
    attributes, coefficients, intercept = fit_by_elimination(X, y, np.arange(width), np.arange(40))
    assert attributes.tolist() == naive_elimination(X, y)
    design = np.column_stack([np.ones(40), X[:, attributes]])
    exact = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(X[:, attributes] @ coefficients + intercept, design @ exact, atol=1e-6)


@given(st.integers(0, 10_000), st.sampled_from([1e-6, 0.1, 50.0, 1e5]), st.floats(-100, 100))
@settings(max_examples=20)
def test_units_do_not_matter(seed: int, factor: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4))
    y = np.where(X[:, 0] > 0, X[:, 1], -2 * X[:, 2]) + 0.2 * rng.normal(size=120)
    base = M5PRegressor().fit(X, y)
    other = M5PRegressor().fit(X * [factor, 1, 1 / factor, 1] + [0, shift, 0, 0], 3 * y + 7)
    assert (base.feature_ == other.feature_).all()
    moved = other.predict(X * [factor, 1, 1 / factor, 1] + [0, shift, 0, 0])
    np.testing.assert_allclose(moved, 3 * base.predict(X) + 7, atol=1e-4)
