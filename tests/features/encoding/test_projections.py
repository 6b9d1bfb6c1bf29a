"""Projections and the ridge of the family `encoder` against scikit-learn's."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from features.encoding.projections import _PENALTIES, Projection, fit_pca, fit_pls, fit_ridge
from features.storage.damage import Damaged
from tests.factories import refuses

GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.normal(size=(60, 12)) @ GENERATOR.normal(size=(12, 12))
LABELS = ROWS[:, 0] - 0.3 * ROWS[:, 5] + GENERATOR.normal(size=60)


def test_principal_components_are_those_of_scikit_learn() -> None:
    theirs = PCA(3, svd_solver="full").fit(ROWS)
    ours = fit_pca(ROWS, 3).apply(ROWS)
    signs = np.sign(np.diag(ours.T @ theirs.transform(ROWS)))
    np.testing.assert_allclose(ours, theirs.transform(ROWS) * signs, atol=1e-9)


def test_components_of_pls_are_those_of_scikit_learn() -> None:
    theirs = PLSRegression(4, scale=False).fit(ROWS, LABELS)
    ours = fit_pls(ROWS, LABELS, 4)
    new = GENERATOR.normal(size=(5, 12))
    expected = theirs.transform(new)
    got = ours.apply(new)
    np.testing.assert_allclose(got, expected * np.sign(np.diag(got.T @ expected)), atol=1e-8)


def test_rows_with_nan_get_nan() -> None:
    rows = ROWS.copy()
    rows[3, 2] = np.nan
    projected = fit_pca(ROWS, 2).apply(rows)
    assert np.isnan(projected[3]).all() and np.isfinite(np.delete(projected, 3, axis=0)).all()


@pytest.mark.parametrize("rows", [ROWS[:3], np.ones((20, 4)), np.column_stack([ROWS[:, 0], 2 * ROWS[:, 0]])])
def test_components_that_the_rows_do_not_have_are_nan(rows: np.ndarray) -> None:
    rank = np.linalg.matrix_rank(rows - rows.mean(axis=0))
    for projection in (fit_pca(rows, 5), fit_pls(rows, LABELS[: len(rows)], 5)):
        projected = projection.apply(rows)
        assert projected.shape == (len(rows), 5)
        assert np.isfinite(projected).all(axis=0).sum() == rank


def test_what_was_fitted_comes_back_unless_it_is_damaged(tmp_path: Path) -> None:
    fitted = fit_pls(ROWS, LABELS, 3)
    fitted.save(tmp_path / "pls")
    assert np.array_equal(Projection.load(tmp_path / "pls", 3).apply(ROWS), fitted.apply(ROWS))
    refuses("3 components", Projection.load, tmp_path / "pls", 2, error=Damaged)
    np.save(tmp_path / "pls" / "mean.npy", np.zeros(4))
    refuses("directions", Projection.load, tmp_path / "pls", 3, error=Damaged)


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
