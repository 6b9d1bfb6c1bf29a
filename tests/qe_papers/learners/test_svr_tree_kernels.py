"""The regression on features and trees: its kernel put together from other libraries' parts."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.syntax.trees import Trees, column
from qe.learning.tree_columns import BesideTrees
from qe.models.pipeline import Candidate, fit, imputer
from qe_papers.learners.svr_tree_kernels import (
    PartialTreeKernel,
    SubsetTreeKernel,
    SvrTreeKernels,
    TreeKernelSvr,
)
from tests.factories import refuses

PARAMS: dict[str, Any] = {"tree_weight": 0.3, "degree": 3, "C": 4.0, "epsilon": 0.05}


def parse(generator: np.random.Generator, length: int) -> str:
    """A tree that leans to the left or to the right, of two kinds of phrases."""
    tree = "(N w0)"
    for i in range(1, length):
        word = f"({'V' if generator.random() < 0.5 else 'D'} w{generator.integers(4)})"
        pair = (tree, word) if generator.random() < 0.5 else (word, tree)
        tree = f"({'X' if i % 2 else 'Y'} {pair[0]} {pair[1]})"
    return tree


def table(rows: int = 50, seed: int = 0) -> tuple[pd.DataFrame, FloatArray]:
    """Two features and two columns of trees; scores depend on the first feature and on the parse's verbs."""
    generator = np.random.default_rng(seed)
    texts = [parse(generator, int(generator.integers(2, 7))) for _ in range(rows)]
    others = [parse(generator, int(generator.integers(2, 7))) for _ in range(rows)]
    X = pd.DataFrame(generator.normal(size=(rows, 2)), columns=["a", "b"])
    X["constituents_source"] = column(Trees.from_brackets(texts))
    X["dependencies_target"] = column(Trees.from_brackets(others))
    verbs = np.array([text.count("(V") / text.count("w") for text in texts])
    return X, 2 + 0.4 * X["a"].to_numpy() + 2 * verbs + 0.1 * generator.normal(size=rows)


def polynomial(X: pd.DataFrame, Z: pd.DataFrame, scaler: MinMaxScaler, degree: int) -> FloatArray:
    """(n, m) normalised polynomial kernel by scikit-learn."""
    one, other = (scaler.transform(t[["a", "b"]].to_numpy()) for t in (X, Z))
    values = polynomial_kernel(one, other, degree=degree, gamma=1, coef0=1)
    norms = [
        np.sqrt(np.diag(polynomial_kernel(rows, degree=degree, gamma=1, coef0=1))) for rows in (one, other)
    ]
    return np.asarray(values / np.outer(*norms))


def batch(X: pd.DataFrame, name: str) -> Trees:
    return Trees.from_brackets([str(tree) for tree in X[name]])


def kernel(X: pd.DataFrame, Z: pd.DataFrame, scaler: MinMaxScaler, params: dict[str, Any]) -> FloatArray:
    trees = SubsetTreeKernel(0.4).between(*(batch(t, "constituents_source") for t in (X, Z)))
    trees = trees + PartialTreeKernel(0.4, 0.4).between(*(batch(t, "dependencies_target") for t in (X, Z)))
    return np.asarray(polynomial(X, Z, scaler, params["degree"]) + params["tree_weight"] * trees)


@pytest.mark.slow
def test_it_is_an_svr_on_the_sum_of_kernels() -> None:
    X, y = table()
    train, held_out = X.iloc[:40], X.iloc[40:]
    scaler = MinMaxScaler().fit(train[["a", "b"]].to_numpy())
    svr = SVR(kernel="precomputed", C=4.0, epsilon=0.05).fit(kernel(train, train, scaler, PARAMS), y[:40])
    expected = svr.predict(kernel(held_out, train, scaler, PARAMS))
    ours = TreeKernelSvr(**PARAMS).fit(train, y[:40])
    np.testing.assert_allclose(ours.predict(held_out), expected, atol=1e-10)
    assert len(ours.weights_) == len(svr.support_) == len(ours.support_trees_["constituents_source"])


def test_without_trees_it_is_scikit_learns_polynomial_svr() -> None:
    X, y = table()
    values = MinMaxScaler().fit_transform(X[["a", "b"]].to_numpy())
    theirs = SVR(kernel="poly", degree=2, gamma=0.5, coef0=1.0, C=2.0, epsilon=0.1, tol=1e-6).fit(values, y)
    ours = TreeKernelSvr(degree=2, gamma=0.5, C=2.0, epsilon=0.1, normalise=False)
    np.testing.assert_allclose(
        ours.fit(X[["a", "b"]], y).predict(X[["a", "b"]]), theirs.predict(values), atol=5e-3
    )


def test_without_features_it_is_an_svr_on_trees() -> None:
    X, y = table()
    trees = X[["constituents_source"]]
    gram = SubsetTreeKernel(0.4).gram(batch(X, "constituents_source"))
    svr = SVR(kernel="precomputed", C=4.0, epsilon=0.1).fit(gram, y)
    ours = TreeKernelSvr(tree_weight=1.0, C=4.0).fit(trees, y)
    np.testing.assert_allclose(ours.predict(trees), svr.predict(gram), atol=1e-10)
    assert np.corrcoef(ours.predict(trees), y)[0, 1] > 0.6


@pytest.mark.slow
def test_a_row_alone_is_what_it_is_in_a_batch() -> None:
    """To the last bit, in the batch of training, in another, and in a copy that knows no batch."""
    X, y = table()
    model = TreeKernelSvr(**PARAMS).fit(X.iloc[:40], y[:40])
    effects = model.tree_effects(X)
    fresh = X.assign(**{name: column(batch(X, name)) for name in effects})
    trusted = [*SvrTreeKernels.trusted_types, f"{TreeKernelSvr.__module__}.{TreeKernelSvr.__name__}"]
    stored = skops.io.loads(skops.io.dumps(model), trusted=trusted)
    for one in (model, stored, pickle.loads(pickle.dumps(model))):
        for rows in (X, fresh):
            for name, values in one.tree_effects(rows).items():
                assert np.array_equal(values, effects[name])
                alone = [one.tree_effects(rows.iloc[[i]])[name][0] for i in (0, 17, 49)]
                assert alone == effects[name][[0, 17, 49]].tolist()
    assert not {"_batches", "_support"} & set(vars(stored))


def test_what_trees_add() -> None:
    X, y = table()
    model = TreeKernelSvr(**PARAMS).fit(X, y)
    total = model.predict_features(X[["a", "b"]]) + sum(model.tree_effects(X).values())
    np.testing.assert_allclose(total, model.predict(X), atol=1e-12)
    assert all(abs(values.mean()) < 1e-12 < values.std() for values in model.tree_effects(X).values())


def test_trees_that_are_absent() -> None:
    X, y = table()
    model = TreeKernelSvr().fit(X, y)
    message = "the trees constituents_source, dependencies_target are needed, but there are none"
    refuses(message, model.predict, X[["a", "b"]])
    with pytest.raises(InputError, match="the trees of none are needed, but there are constituents_source"):
        TreeKernelSvr().fit(X[["a", "b"]], y).predict(X)


def test_a_constant_feature_counts_for_nothing_wherever_it_goes() -> None:
    X, y = table()
    wide = X.assign(c=7.0)[["a", "b", "c"]]
    model = TreeKernelSvr().fit(wide, y)
    assert np.array_equal(model.predict(wide.assign(c=1e9)), model.predict(wide))


def test_the_pipeline_imputes_features_beside_trees() -> None:
    X, y = table()
    X.loc[3, "a"] = np.nan
    candidate = Candidate("svr_tree_kernels", PARAMS)
    pipeline = fit(candidate.pipeline(0), X, y)
    assert [name for name, _ in pipeline.steps] == ["impute", "learn"]
    assert list(pipeline[:-1].get_feature_names_out()) == list(X.columns)
    filled = X.fillna({"a": X["a"].median()})
    assert np.array_equal(pipeline.predict(X), TreeKernelSvr(**PARAMS).fit(filled, y).predict(filled))


def test_a_table_of_trees_alone_passes_the_imputer() -> None:
    X, _ = table()
    trees = X[["constituents_source"]]
    step = BesideTrees(imputer()).fit(trees)
    assert step.transform(trees) is trees
    assert step.get_feature_names_out().tolist() == ["constituents_source"]
