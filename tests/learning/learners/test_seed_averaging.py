"""Mean of one learner over seeds: closed forms, and an ensemble within an ensemble that can be stored."""

from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import Ridge

from features.basics.array_types import FloatArray
from qe.learning.learner import LEARNERS
from qe.learning.learners.ensembles import SeedAveragingRegressor
from tests.factories import refuses

TREES: dict[str, Any] = {"kind": "lightgbm", "n_estimators": 20, "subsample": 0.5, "min_child_samples": 5}


def data(rows: int = 120, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    return X, X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=rows)


def test_mean_of_single_fits() -> None:
    X, y = data()
    alone = [LEARNERS.get("lightgbm")().estimator(seed=s, **without_kind()).fit(X, y) for s in (7, 8, 9)]
    expected = sum(model.predict(X) for model in alone) / 3
    predicted = SeedAveragingRegressor(TREES, repeats=3, seed=7).fit(X, y).predict(X)
    np.testing.assert_allclose(predicted, expected, rtol=1e-12)
    assert np.abs(predicted - alone[0].predict(X)).max() > 0.01


def without_kind() -> dict[str, Any]:
    return {name: value for name, value in TREES.items() if name != "kind"}


def test_nothing_drawn_nothing_changed() -> None:
    X, y = data()
    fitted = SeedAveragingRegressor({"kind": "ridge", "alpha": 2.0}, repeats=4).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), Ridge(alpha=2.0).fit(X, y).predict(X), atol=1e-8)
    assert len(fitted.members_) == len(fitted.weights_) == 1


def test_within_an_ensemble_it_is_stored_without_pickle() -> None:
    X, y = data()
    members = [{"kind": "ridge"}, {"kind": "seed_averaging", "repeats": 2, "member": TREES}]
    learner = LEARNERS.get("averaging")()
    model = learner.estimator(seed=1, members=members).fit(X, y)
    again = skops.io.loads(skops.io.dumps(model), trusted=list(learner.trusted_types))
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-13)


def test_weights_reach_the_member() -> None:
    X, y = data()
    weights = np.where(np.arange(len(y)) < 60, 1.0, 0.0)
    ridge = {"kind": "ridge", "alpha": 1e-9}
    predicted = SeedAveragingRegressor(ridge, repeats=2).fit(X, y, weights).predict(X)
    np.testing.assert_allclose(predicted, Ridge(alpha=1e-9).fit(X[:60], y[:60]).predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"repeats": 0}, "`repeats` must be 1 or more, but got 0"),
        ({"member": {"kind": "lightgbm", "random_state": 3}}, "would be the same every time"),
        ({"member": {"alpha": 3}}, "a member needs 'kind'"),
    ],
)
def test_errors(params: dict[str, Any], message: str) -> None:
    X, y = data(20)
    refuses(message, SeedAveragingRegressor(**params).fit, X, y)
