"""The pipeline of every learner and selector: undefined values, unknown columns, rows by themselves."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe.learners._base import LEARNERS
from qe.pipeline import Candidate, fit
from qe.selection._base import SELECTORS

# Smaller settings where the defaults take seconds.
QUICK: dict[str, dict[str, Any]] = {
    "mlp_ensemble": {"n_members": 3, "epochs": 10},
    "random_forest": {"n_estimators": 10},
    "extra_trees": {"n_estimators": 10},
    "dcu_mean": {"n_estimators": 10},
    "gaussian_process": {"max_iter": 5},
    "lambdamart": {"n_estimators": 10, "min_child_samples": 5},
    "quantile_boosting": {"n_estimators": 10},
    "lightgbm": {"n_estimators": 10},
    "lightgbm_linear": {"n_estimators": 10},
    "averaging": {"members": [{"kind": "ridge"}, {"kind": "m5p"}]},
    "seed_averaging": {"member": {"kind": "lightgbm", "n_estimators": 5}, "repeats": 2},
    "stacking": {"members": [{"kind": "ridge"}, {"kind": "k_neighbours", "n_neighbors": 4}], "folds": 3},
}


def holes(rows: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.float64]]]:
    """A linear problem with a tenth of all values undefined, and one column undefined throughout."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    y = np.clip(3 + X[:, 0] + 0.3 * rng.normal(size=rows), 1, 5)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.nan
    return pd.DataFrame(X, columns=[f"f{i}" for i in range(5)]), y


@pytest.mark.parametrize("name", LEARNERS.names)
def test_a_learner_with_undefined_features(name: str) -> None:
    X, y = holes()
    fitted = fit(Candidate(name, QUICK.get(name, {})).pipeline(seed=0), X, y)
    predicted = np.asarray(fitted.predict(X), np.float64)
    assert predicted.shape == (60,) and np.isfinite(predicted).all()
    nothing = pd.DataFrame(np.full((1, 5), np.nan), columns=X.columns)
    assert np.isfinite(fitted.predict(nothing)).all()
    if name != "mean":
        assert np.corrcoef(predicted, y)[0, 1] > 0.3


@pytest.mark.parametrize("name", SELECTORS.names)
def test_a_selector_with_undefined_features(name: str) -> None:
    X, y = holes()
    candidate = Candidate("ridge", {}, name)
    fitted = fit(candidate.pipeline(seed=0), X, y)
    assert np.isfinite(fitted.predict(X)).all()
    assert np.corrcoef(fitted.predict(X), y)[0, 1] > 0.5
