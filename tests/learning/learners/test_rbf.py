"""Predictions by matrix products are scikit-learn's, and a row's do not depend on the others."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from qe.learning.learners.similarity import predicted

RNG = np.random.default_rng(0)


def fitted(columns: int, gamma: float) -> tuple[SVR, np.ndarray]:
    rows = RNG.normal(size=(500, columns)) * RNG.lognormal(size=columns)
    gold = np.sin(rows[:, 0]) + RNG.normal(size=500)
    new = np.vstack([rows[:100], RNG.normal(size=(600, columns)) * 3])
    return SVR(gamma=gamma, epsilon=0.1).fit(rows, gold), new


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "gamma"), [(1, 1.0), (17, 0.01), (300, 0.0003), (600, 0.1)])
def test_an_rbf_machine_predicts_what_libsvm_says(columns: int, gamma: float) -> None:
    model, new = fitted(columns, gamma)
    np.testing.assert_allclose(predicted(model, new), model.predict(new), rtol=0, atol=1e-10)
    assert predicted(model, new[:0]).shape == (0,)


def test_a_row_does_not_depend_on_the_others() -> None:
    model, new = fitted(300, 0.001)
    together = predicted(model, new)
    for rows in (np.array([5]), np.arange(250, 600), RNG.permutation(700)):
        np.testing.assert_array_equal(predicted(model, new[rows]), together[rows])


def test_rows_whose_squares_no_number_holds_are_left_to_libsvm_and_change_no_other() -> None:
    model, new = fitted(4, 0.1)
    others = predicted(model, new)
    far = new.copy()
    far[3], far[4] = 1e200, 1e308
    found = predicted(model, far)
    np.testing.assert_allclose(found, model.predict(far), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(np.delete(found, [3, 4]), np.delete(others, [3, 4]))


def test_other_models_predict_themselves() -> None:
    rows = RNG.normal(size=(60, 3))
    for model in (SVR(kernel="linear", C=0.01), SVR(kernel="poly", degree=2, C=0.01), Ridge()):
        model.fit(rows, rows[:, 0])
        np.testing.assert_array_equal(predicted(model, rows), model.predict(rows))
