"""Our metrics as scorers of scikit-learn: the best is the best, and figures are those of the metric."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from qe.statistics import DeltaAvg, scorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 8))
Y = X[:, 0] + 0.5 * RNG.normal(size=120)
FOLDS = KFold(4)


def test_a_grid_search_is_by_delta_avg() -> None:
    found = GridSearchCV(Ridge(), {"alpha": [1e-3, 1e6]}, scoring=scorer("delta_avg"), cv=FOLDS).fit(X, Y)
    by_hand = np.mean(
        [
            DeltaAvg().score(Y[b], found.best_estimator_.fit(X[a], Y[a]).predict(X[b]))
            for a, b in FOLDS.split(X)
        ]
    )
    assert found.best_score_ == pytest.approx(by_hand) and found.best_score_ > 0


def test_errors_are_negative_and_directions_are_kept() -> None:
    errors = cross_val_score(Ridge(), X, Y, scoring=pickle.loads(pickle.dumps(scorer("mae"))), cv=FOLDS)
    expected = [-mean_absolute_error(Y[b], Ridge().fit(X[a], Y[a]).predict(X[b])) for a, b in FOLDS.split(X)]
    np.testing.assert_allclose(errors, expected)
    # Error rates: the order that counts is that of quality.
    model = Ridge().fit(X, -Y)
    falling = scorer("delta_avg", higher_is_better=False)(model, X, -Y)
    assert falling == pytest.approx(scorer("delta_avg")(Ridge().fit(X, Y), X, Y))
