"""What is dropped, by data whose inconsistent rows are known."""

import numpy as np

from qe_papers.learners.svr import ConsistentSVR


def line(wrong: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(-2, 2, 41)
    y = 3 + 0.5 * x
    for place, by in wrong.items():
        y[place] += by
    return x[:, None], y


def test_rows_off_the_line_are_dropped() -> None:
    """With C large, two rows that no line within epsilon fits are all that is at the bound at last."""
    X, y = line({5: 2.0, 30: -2.0})
    fitted = ConsistentSVR(C=100, epsilon=0.01).fit(X, y)
    assert not fitted.kept_[[5, 30]].any() and fitted.rounds_ > 1
    np.testing.assert_allclose(fitted.predict(X), 3 + 0.5 * X[:, 0], atol=0.02)


def test_no_row_that_stays_is_off_by_more_than_epsilon() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X @ [1, -1, 0.5, 0] + rng.normal(scale=0.5, size=200)
    fitted = ConsistentSVR(C=0.5, epsilon=0.3).fit(X, y)
    assert 2 < fitted.kept_.sum() < 200
    assert np.abs(fitted.predict(X) - y)[fitted.kept_].max() <= 0.3 + 1e-2


def test_without_inconsistent_rows_it_is_the_plain_svr() -> None:
    X, y = line({})
    fitted = ConsistentSVR(C=100, epsilon=0.01).fit(X, y)
    assert fitted.kept_.all() and fitted.rounds_ == 1


def test_where_every_row_would_go_the_last_model_stays() -> None:
    """A tiny C puts all rows at their bounds."""
    X, y = line({})
    fitted = ConsistentSVR(C=1e-6, epsilon=0.0).fit(X, y)
    assert fitted.kept_.all() and np.isfinite(fitted.predict(X)).all()
