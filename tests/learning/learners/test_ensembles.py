"""Mean over seeds, the search inside the fold: closed forms, scikit-learn's grid search."""

from typing import Any

import numpy as np
import skops.io
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold

from features.basics.array_types import FloatArray
from qe.learning.learner import LEARNERS
from qe.learning.learners.ensembles import SeedAveragingRegressor, TunedRegressor

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


RIDGE = {"kind": "ridge"}
ALPHAS = [0.01, 1.0, 100.0, 10_000.0]


def tuned_data(rows: int = 120, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.normal(scale=2.0, size=rows)


def test_the_choice_is_that_of_scikit_learns_grid_search() -> None:
    """Contiguous folds of equal size: the mean of the folds' errors is the error of all rows."""
    X, y = tuned_data()
    outside = GridSearchCV(Ridge(), {"alpha": ALPHAS}, scoring="neg_mean_absolute_error", cv=KFold(5)).fit(
        X, y
    )
    fitted = TunedRegressor(RIDGE, {"alpha": ALPHAS}).fit(X, y)
    assert fitted.params_ == outside.best_params_
    np.testing.assert_allclose(fitted.scores_, outside.cv_results_["mean_test_score"], rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(X), outside.predict(X), rtol=1e-6)


def test_first_columns_and_last_rows_choose_and_the_choice_is_kept_for_all() -> None:
    """3/4 to 1/4 on the first two of six columns; then fitted on all rows and columns."""
    X, y = tuned_data()
    fitted = TunedRegressor(RIDGE, {"alpha": ALPHAS}, columns=2, validation=0.25).fit(X, y)
    errors = [np.abs(Ridge(a).fit(X[:90, :2], y[:90]).predict(X[90:, :2]) - y[90:]).mean() for a in ALPHAS]
    np.testing.assert_allclose(fitted.scores_, -np.array(errors), rtol=1e-6)
    assert fitted.params_ == {"alpha": ALPHAS[int(np.argmin(errors))]}
    np.testing.assert_allclose(fitted.predict(X), Ridge(**fitted.params_).fit(X, y).predict(X), rtol=1e-6)


def test_a_metric_that_ranks_sees_which_labels_are_good() -> None:
    X, y = tuned_data()
    grid = {"alpha": ALPHAS}
    high = TunedRegressor(RIDGE, grid, metric="delta_avg").fit(X, y)
    low = TunedRegressor(RIDGE, grid, metric="delta_avg", label_sign=-1).fit(X, -y)
    np.testing.assert_allclose(high.scores_, low.scores_)
