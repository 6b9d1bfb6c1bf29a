"""Networks against finite differences and plain NumPy; which random sets of features count."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from features.basics import threads
from qe_papers.learners.ensembles import RandomFeatureSets
from qe_papers.learners.mlp_ensemble import (
    LabelledRows,
    Lanes,
    MlpEnsemble,
    _tanh,
    batch_gradients,
    initial_state,
)
from tests.features.differences import check_gradient

Array = NDArray[Any]


def data(rows: int = 90, columns: int = 6, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.normal(size=rows)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("columns", [1, 4, 9])
def test_gradients_by_differences(rows: int, columns: int) -> None:
    """Of half the weighted squared error, as NumPy computes it: sums over three networks of two units."""
    rng = np.random.default_rng(rows)
    g, h = 3, 2
    lanes = Lanes(*(rng.normal(size=size) for size in ((columns, h * g), h * g, h * g, g)))
    state, parameters, slopes = initial_state(lanes)
    batch = LabelledRows(rng.normal(size=(rows, columns)), rng.normal(size=rows), rng.random(rows))

    def loss() -> float:
        units = np.tanh(batch.inputs @ parameters.into + parameters.hidden).reshape(rows, h, g)
        outputs = (units * parameters.output.reshape(h, g)).sum(axis=1) + parameters.bias
        return float(batch.weights @ (0.5 * (outputs - batch.labels[:, None]) ** 2).sum(axis=1) / rows)

    batch_gradients(batch, parameters, slopes)
    check_gradient(loss, state.values, state.gradients, 3e-6)


def plain_network(model: MlpEnsemble, X: Array, y: Array, importance: Array, member: int) -> Array:
    """One network of an ensemble in double precision, by Kingma and Ba's algorithm 1; what it says of X."""
    m, h, k = model.n_members, model.hidden, X.shape[1]
    rng = np.random.default_rng(model.seed)
    into = rng.normal(scale=k**-0.5, size=(k, m, h))[:, member]
    out = rng.normal(scale=h**-0.5, size=(m, h))[member]
    parameters = [into, np.zeros(h), out, np.zeros(1)]
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    labels = (y - y.mean()) / y.std()
    step, steps = 0, model.epochs * -(-len(y) // model.batch_size)
    for _ in range(model.epochs):
        order = rng.permutation(len(y))
        for rows in np.split(order, range(model.batch_size, len(y), model.batch_size)):
            units = np.tanh(X[rows] @ parameters[0] + parameters[1])
            error = (units @ parameters[2] + parameters[3] - labels[rows]) * importance[rows] / len(rows)
            back = np.outer(error, parameters[2]) * (1 - units**2)
            gradients = [X[rows].T @ back, back.sum(axis=0), units.T @ error, error.sum(keepdims=True)]
            rate, step = model.learning_rate * (1 - step / steps), step + 1
            updates = zip(parameters, gradients, first, second, (1, 0, 1, 0), strict=True)
            for p, gradient, a, b, decays in updates:
                a[:] = 0.9 * a + 0.1 * gradient
                b[:] = 0.999 * b + 0.001 * gradient**2
                moved = a / (1 - 0.9**step) / (np.sqrt(b / (1 - 0.999**step)) + 1e-8)
                p -= rate * (moved + model.weight_decay * decays * p)
    said = np.tanh(X @ parameters[0] + parameters[1]) @ parameters[2] + parameters[3]
    return np.asarray(y.mean() + y.std() * said)


@pytest.mark.parametrize("member", [0, 31, 32, 40])
def test_each_network_is_one_of_plain_numpy(member: int) -> None:
    """To single precision; of two groups of networks, with a last batch of an odd number of rows."""
    X, y = data()
    importance = np.linspace(0.5, 1.5, len(y))
    model = MlpEnsemble(41, hidden=3, epochs=8, batch_size=19, seed=5).fit(X, y, importance)
    expected = plain_network(model, X, y, importance, member)
    np.testing.assert_allclose(model.predict_members(X)[:, member], expected, atol=2e-5)


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    said = []
    for cores in (1, 3):
        monkeypatch.setattr(threads, "cores", lambda number=cores: number)
        said.append(MlpEnsemble(100, epochs=3).fit(X, y).predict_members(X))
    np.testing.assert_array_equal(*said)


def test_networks_differ_and_blocks_of_rows_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    model = MlpEnsemble(70, epochs=2).fit(X, y)
    said = model.predict_members(X)
    assert np.corrcoef(said.T)[np.triu_indices(70, 1)].max() < 0.9999
    np.testing.assert_allclose(model.predict(X), said.mean(axis=1), rtol=1e-14)
    monkeypatch.setattr("qe_papers.learners.mlp_ensemble._VALUES", 7000)  # ten rows of 700 units
    np.testing.assert_allclose(model.predict_members(X), said, rtol=1e-12)


def test_tanh_is_numpys() -> None:
    x = np.concatenate([np.linspace(-12, 12, 100_001), [-1e30, 0, 1e-8, 1e30]])[:, None]
    single = x.astype(np.float32)
    _tanh(single, np.zeros(1, np.float32))
    np.testing.assert_allclose(single, np.tanh(x), atol=4e-7)


RIDGE = {"kind": "ridge", "alpha": 1.0}


def random_feature_sets_data(beside: float) -> tuple[np.ndarray, np.ndarray]:
    """Two baseline columns and six others, of which the first two tell something."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    return X, X[:, 0] + beside * (X[:, 2] + X[:, 3]) + rng.normal(scale=0.3, size=300)


def test_sets_that_are_better_are_averaged() -> None:
    X, y = random_feature_sets_data(1.0)
    fitted = RandomFeatureSets(RIDGE, baseline=2, sets=10, seed=1).fit(X[:200], y[:200])
    assert len(fitted.errors_) == 11 and len(fitted.columns_) == (fitted.errors_ < fitted.errors_[0]).sum()
    for columns in fitted.columns_:
        assert {0, 1} < set(columns) and len(columns) == 5 and {2, 3} & set(columns)
    baseline = RandomFeatureSets(RIDGE, baseline=8, sets=1).fit(X[:200], y[:200])
    members = zip(fitted.members_, fitted.columns_, strict=True)
    by_hand = np.mean([member.predict(X[200:][:, columns]) for member, columns in members], axis=0)
    np.testing.assert_allclose(fitted.predict(X[200:]), by_hand)
    error = np.abs(fitted.predict(X[200:]) - y[200:]).mean()
    assert np.abs(baseline.predict(X[200:]) - y[200:]).mean() < error < 1.0  # all columns know both


def test_the_baseline_stays_where_no_set_is_better() -> None:
    """One row a fold is held out; columns of nothing cannot help but by chance: here they are constant."""
    X, y = random_feature_sets_data(0.0)
    X[:, 2:] = 0
    fitted = RandomFeatureSets(RIDGE, baseline=2, sets=5).fit(X, y)
    assert len(fitted.columns_) == 1 and fitted.columns_[0].tolist() == [0, 1]
