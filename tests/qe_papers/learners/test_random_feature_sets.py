"""Which random sets count, and that they help where there is something beside the baseline."""

import numpy as np
import pytest

from features.basics.errors import InputError
from qe_papers.learners.ensembles import RandomFeatureSets

RIDGE = {"kind": "ridge", "alpha": 1.0}


def data(beside: float) -> tuple[np.ndarray, np.ndarray]:
    """Two baseline columns and six others, of which the first two tell something."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    return X, X[:, 0] + beside * (X[:, 2] + X[:, 3]) + rng.normal(scale=0.3, size=300)


def test_sets_that_are_better_are_averaged() -> None:
    X, y = data(1.0)
    fitted = RandomFeatureSets(RIDGE, baseline=2, sets=10, seed=1).fit(X[:200], y[:200])
    assert len(fitted.errors_) == 11 and len(fitted.columns_) == (fitted.errors_ < fitted.errors_[0]).sum()
    for columns in fitted.columns_:
        assert {0, 1} < set(columns) and len(columns) == 5 and {2, 3} & set(columns)
    baseline = RandomFeatureSets(RIDGE, baseline=8, sets=1).fit(X[:200], y[:200])
    by_hand = np.mean(
        [m.predict(X[200:][:, c]) for m, c in zip(fitted.members_, fitted.columns_, strict=True)], axis=0
    )
    np.testing.assert_allclose(fitted.predict(X[200:]), by_hand)
    error = np.abs(fitted.predict(X[200:]) - y[200:]).mean()
    assert np.abs(baseline.predict(X[200:]) - y[200:]).mean() < error < 1.0  # all columns know both


def test_the_baseline_stays_where_no_set_is_better() -> None:
    """One row a fold is held out; columns of nothing cannot help but by chance: here they are constant."""
    X, y = data(0.0)
    X[:, 2:] = 0
    fitted = RandomFeatureSets(RIDGE, baseline=2, sets=5).fit(X, y)
    assert len(fitted.columns_) == 1 and fitted.columns_[0].tolist() == [0, 1]


def test_fewer_columns_than_the_baseline_has_are_one_message() -> None:
    X, y = data(0.0)
    with pytest.raises(InputError, match="the baseline has 17 columns, but there are 8; set `baseline`"):
        RandomFeatureSets(RIDGE, baseline=17).fit(X, y)
