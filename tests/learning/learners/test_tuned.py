"""The search inside the fold: which rows and columns it sees, and what it keeps."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold

from qe.learning.learners.ensembles import TunedRegressor
from tests.factories import refuses

RIDGE = {"kind": "ridge"}
ALPHAS = [0.01, 1.0, 100.0, 10_000.0]


def data(rows: int = 120, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.normal(scale=2.0, size=rows)


def test_the_choice_is_that_of_scikit_learns_grid_search() -> None:
    """Contiguous folds of equal size: the mean of the folds' errors is the error of all rows."""
    X, y = data()
    outside = GridSearchCV(Ridge(), {"alpha": ALPHAS}, scoring="neg_mean_absolute_error", cv=KFold(5)).fit(
        X, y
    )
    fitted = TunedRegressor(RIDGE, {"alpha": ALPHAS}).fit(X, y)
    assert fitted.params_ == outside.best_params_
    np.testing.assert_allclose(fitted.scores_, outside.cv_results_["mean_test_score"], rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(X), outside.predict(X), rtol=1e-6)


def test_first_columns_and_last_rows_choose_and_the_choice_is_kept_for_all() -> None:
    """3/4 to 1/4 on the first two of six columns; then fitted on all rows and columns."""
    X, y = data()
    fitted = TunedRegressor(RIDGE, {"alpha": ALPHAS}, columns=2, validation=0.25).fit(X, y)
    errors = [np.abs(Ridge(a).fit(X[:90, :2], y[:90]).predict(X[90:, :2]) - y[90:]).mean() for a in ALPHAS]
    np.testing.assert_allclose(fitted.scores_, -np.array(errors), rtol=1e-6)
    assert fitted.params_ == {"alpha": ALPHAS[int(np.argmin(errors))]}
    np.testing.assert_allclose(fitted.predict(X), Ridge(**fitted.params_).fit(X, y).predict(X), rtol=1e-6)


def test_a_metric_that_ranks_sees_which_labels_are_good() -> None:
    X, y = data()
    grid = {"alpha": ALPHAS}
    high = TunedRegressor(RIDGE, grid, metric="delta_avg").fit(X, y)
    low = TunedRegressor(RIDGE, grid, metric="delta_avg", label_sign=-1).fit(X, -y)
    np.testing.assert_allclose(high.scores_, low.scores_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": 17}, "the search needs 17 columns, but there are 6; set `columns`"),
        ({"grid": {"alpha": 1.0}}, "`grid.alpha` must be a list of values, but got 1.0"),
        ({"grid": {"alpha": []}}, r"`grid.alpha` must be a list of values, but got \[\]"),
        ({"grid": {"alfa": [1.0]}}, "learner 'ridge': .*alfa"),
    ],
)
def test_what_cannot_be_searched_is_one_message(settings: dict[str, object], message: str) -> None:
    X, y = data()
    refuses(message, TunedRegressor(**{"member": RIDGE, **settings}).fit, X, y)
