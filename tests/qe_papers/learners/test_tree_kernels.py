"""Tree kernels against all fragments of small trees; the regression on features and trees."""

import itertools
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.syntax.trees import Trees, column
from qe.learning.tree_columns import BesideTrees
from qe.models.pipeline import Candidate, fit, imputer
from qe_papers.learners.svr_tree_kernels import (
    PartialTreeKernel,
    SubsetTreeKernel,
    SvrTreeKernels,
    TreeKernel,
    TreeKernelSvr,
)

Nested = tuple[str, tuple["Nested", ...]]  # type: ignore[misc]
KERNELS = [
    SubsetTreeKernel(0.4),
    SubsetTreeKernel(1.0),
    PartialTreeKernel(0.4, 0.4),
    PartialTreeKernel(0.7, 1.3),
]


def value(kernel: TreeKernel, left: str, right: str) -> float:
    """K of two bracketed trees, not normalised."""
    one, other = Trees.from_brackets([left]), Trees.from_brackets([right])
    norm = np.sqrt(kernel.own_values(one)[0] * kernel.own_values(other)[0])
    return float(kernel.between(one, other)[0, 0] * norm)


# --- by hand --------------------------------------------------------------------------------------------

CAT, DOG = "(NP (D a) (N cat))", "(NP (D a) (N dog))"
BROUGHT = "(VP (V brought) (NP (D a) (N cat)))"


@pytest.mark.parametrize(
    ("left", "right", "decay", "depth_decay", "expected"),
    [
        # lambda = mu = 1 counts fragments, and Moschitti 2006 (Figure 3) has 30 with the root VP: those of V
        # with the word (3) and of the NP (15) come on top.
        (BROUGHT, BROUGHT, 1.0, 1.0, 30.0 + 3.0 + 15.0),
        # Section 3.1: [S [DT JJ N]] and [S [DT N N]] share [S [N]] (2 times) and [S [DT N]] (2 times),
        # and [S [DT]], [S], [DT], [N] (2 times).
        ("(S DT JJ N)", "(S DT N N)", 1.0, 1.0, 2 + 2 + 1 + 1 + 1 + 2),
    ],
)
def test_partial_trees_by_hand(
    left: str, right: str, decay: float, depth_decay: float, expected: float
) -> None:
    assert value(PartialTreeKernel(decay, depth_decay), left, right) == pytest.approx(expected, rel=1e-12)


# --- all fragments --------------------------------------------------------------------------------------


def nested(text: str) -> Nested:
    """A bracketed tree as nested tuples, read without the code under test."""
    open_: list[list[Nested]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            open_.append([])
        elif token == ")":
            (label, _), *children = open_.pop()
            open_[-1].append((label, tuple(children)))
        else:
            open_[-1].append((token, ()))
    return open_[0][0]


def nodes(tree: Nested) -> Iterator[Nested]:
    yield tree
    for child in tree[1]:
        yield from nodes(child)


def subset_fragments(node: Nested, decay: float) -> Iterator[tuple[Nested, float]]:
    """Fragments with the node as root, all of its children or a frontier node each, and their weights."""
    label, children = node
    if not children:
        return
    choices = [[((child[0], ()), 1.0), *subset_fragments(child, decay)] for child in children]
    for chosen in itertools.product(*choices):
        weight = float(np.prod([w for _, w in chosen]))
        yield (label, tuple(fragment for fragment, _ in chosen)), np.sqrt(decay) * weight


def partial_fragments(node: Nested, decay: float, depth_decay: float) -> Iterator[tuple[Nested, float]]:
    """Fragments with the node as root and any of its children, and the share of the weight of one tree.

    The kernel's terms are products of what the two trees give: sqrt(mu) lambda for a node without children,
    sqrt(mu) lambda^d(J) for one with the children J.
    """
    label, children = node
    yield (label, ()), np.sqrt(depth_decay) * decay
    for size in range(1, len(children) + 1):
        for places in itertools.combinations(range(len(children)), size):
            choices = [list(partial_fragments(children[k], decay, depth_decay)) for k in places]
            for chosen in itertools.product(*choices):
                weight = float(np.prod([w for _, w in chosen])) * decay ** (places[-1] - places[0] + 1)
                yield (label, tuple(fragment for fragment, _ in chosen)), np.sqrt(depth_decay) * weight


def by_fragments(kernel: TreeKernel, left: str, right: str) -> float:
    """The scalar product of weighted counts of all fragments."""

    def counts(text: str) -> Counter[Nested]:
        tally: Counter[Nested] = Counter()
        for node in nodes(nested(text)):
            if isinstance(kernel, PartialTreeKernel):
                fragments = partial_fragments(node, kernel.decay, kernel.depth_decay)
            else:
                fragments = subset_fragments(node, kernel.decay)
            for fragment, weight in fragments:
                tally[fragment] += weight  # type: ignore[assignment]
        return tally

    one, other = counts(left), counts(right)
    return float(sum(weight * other[fragment] for fragment, weight in one.items()))


def random_tree(generator: np.random.Generator, depth: int = 0) -> str:
    """Few labels, so that much is shared; labels of leaves occur as labels of other nodes too."""
    label = str(generator.choice(list("abc")))
    children = 0 if depth == 3 else int(generator.choice([0, 1, 2, 3], p=[0.25, 0.25, 0.3, 0.2]))
    if depth == 0:
        children = max(children, 1)
    if not children:
        return label
    return f"({label} {' '.join(random_tree(generator, depth + 1) for _ in range(children))})"


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_fragment_by_fragment(kernel: TreeKernel) -> None:
    generator = np.random.default_rng(0)
    shared = 0
    for _ in range(40):
        left, right = random_tree(generator), random_tree(generator)
        expected = by_fragments(kernel, left, right)
        shared += expected > 0
        assert value(kernel, left, right) == pytest.approx(expected, rel=1e-10, abs=1e-12), (left, right)
    assert shared >= 10


# --- laws -----------------------------------------------------------------------------------------------

SEEDS = st.integers(0, 2**32 - 1)


def forest(seed: int, n: int = 12) -> Trees:
    generator = np.random.default_rng(seed)
    return Trees.from_brackets([random_tree(generator) for _ in range(n)])


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_kernel(kernel: TreeKernel, seed: int) -> None:
    """Symmetric, positive semi-definite, 1 on the diagonal, at most 1."""
    gram = kernel.gram(forest(seed))
    assert np.array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-9
    assert (np.diag(gram) == 1).all() and gram.min() >= 0 and gram.max() <= 1 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_value_is_of_its_two_trees_alone(kernel: TreeKernel, seed: int) -> None:
    """To the last bit: alone or in a batch, in either order, whatever numbers their labels have."""
    trees = forest(seed)
    gram = kernel.gram(trees)
    order = np.random.default_rng(seed).permutation(len(trees))
    assert np.array_equal(kernel.gram(trees.take(order)), gram[np.ix_(order, order)])
    assert np.array_equal(kernel.between(trees.take(order[:5]), trees), gram[order[:5]])
    one, other = trees.take(order[:1]), trees.take(order[1:2])
    for values in (kernel.between(one, other), kernel.between(other, one)):
        assert values[0, 0] == gram[order[0], order[1]]
    beside = Trees.concatenate([Trees.from_brackets(["(z (c b) a)"]), trees])
    assert np.array_equal(kernel.gram(beside)[1:, 1:], gram)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_equal_trees_and_trees_without_fragments(kernel: TreeKernel) -> None:
    trees = Trees.from_brackets([BROUGHT, "", BROUGHT, "(Q (R s))"])
    gram = kernel.gram(trees)
    assert gram[0, 2] == 1 and gram[0, 3] == 0
    assert (gram[1] == 0).all() and (gram[:, 1] == 0).all()
    assert kernel.between(trees.take([1]), trees).tolist() == [[0, 0, 0, 0]]


def test_a_leaf_alone_has_no_subset_tree() -> None:
    leaf = Trees.from_brackets(["(A)"])
    assert SubsetTreeKernel().gram(leaf)[0, 0] == 0 and PartialTreeKernel().gram(leaf)[0, 0] == 1


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nothing(kernel: TreeKernel) -> None:
    nothing, trees = Trees.from_brackets([]), Trees.from_brackets([CAT])
    assert kernel.gram(nothing).shape == (0, 0)
    assert kernel.between(nothing, trees).shape == (0, 1)
    assert kernel.between(trees, nothing).shape == (1, 0)


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


def batch(X: pd.DataFrame, name: str) -> Trees:
    return Trees.from_brackets([str(tree) for tree in X[name]])


def kernel(X: pd.DataFrame, Z: pd.DataFrame, scaler: MinMaxScaler) -> FloatArray:
    """(n, m) normalised polynomial kernel by scikit-learn, and the kernels of the trees."""
    one, other = (scaler.transform(t[["a", "b"]].to_numpy()) for t in (X, Z))
    polynomial = partial(polynomial_kernel, degree=PARAMS["degree"], gamma=1, coef0=1)
    norms = [np.sqrt(np.diag(polynomial(rows))) for rows in (one, other)]
    trees = SubsetTreeKernel(0.4).between(*(batch(t, "constituents_source") for t in (X, Z)))
    trees = trees + PartialTreeKernel(0.4, 0.4).between(*(batch(t, "dependencies_target") for t in (X, Z)))
    return np.asarray(polynomial(one, other) / np.outer(*norms) + PARAMS["tree_weight"] * trees)


@pytest.mark.slow
def test_it_is_an_svr_on_the_sum_of_kernels() -> None:
    X, y = table()
    train, held_out = X.iloc[:40], X.iloc[40:]
    scaler = MinMaxScaler().fit(train[["a", "b"]].to_numpy())
    svr = SVR(kernel="precomputed", C=4.0, epsilon=0.05).fit(kernel(train, train, scaler), y[:40])
    expected = svr.predict(kernel(held_out, train, scaler))
    ours = TreeKernelSvr(**PARAMS).fit(train, y[:40])
    np.testing.assert_allclose(ours.predict(held_out), expected, atol=1e-10)
    assert len(ours.weights_) == len(svr.support_) == len(ours.support_trees_["constituents_source"])


def test_without_trees_it_is_scikit_learns_polynomial_svr() -> None:
    X, y = table()
    values = MinMaxScaler().fit_transform(X[["a", "b"]].to_numpy())
    theirs = SVR(kernel="poly", degree=2, gamma=0.5, coef0=1.0, C=2.0, epsilon=0.1, tol=1e-6).fit(values, y)
    ours = TreeKernelSvr(degree=2, gamma=0.5, C=2.0, epsilon=0.1, normalise=False)
    features = X[["a", "b"]]
    np.testing.assert_allclose(ours.fit(features, y).predict(features), theirs.predict(values), atol=5e-3)


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
