"""The ridge of the family `encoder` against scikit-learn's, with more rows than columns and with fewer."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from features.encoding.projections import _PENALTIES, fit_ridge


@pytest.mark.parametrize(("n", "d"), [(200, 30), (30, 30), (40, 200)])
def test_predictions_are_those_of_scikit_learn(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n + 50, d)) * rng.uniform(0.1, 3, d) + rng.normal(size=d)
    rows[:, 3] = 2.0  # says nothing
    labels = rows[:, :5] @ np.arange(5.0) + rng.normal(size=n + 50)
    scaler = StandardScaler().fit(rows[:n])
    theirs = RidgeCV(n * np.array(_PENALTIES)).fit(scaler.transform(rows[:n]), labels[:n])
    expected = theirs.predict(scaler.transform(rows[n:]))
    np.testing.assert_allclose(fit_ridge(rows[:n], labels[:n]).predict(rows[n:]), expected, atol=1e-6)


def test_rows_that_are_all_alike_predict_the_mean() -> None:
    ours = fit_ridge(np.ones((4, 9)), np.array([1.0, 2.0, 3.0, 6.0]))
    assert ours.predict(np.ones((2, 9))).tolist() == [3.0, 3.0]
