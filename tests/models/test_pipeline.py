"""The pipeline of every learner and selector: undefined values, unknown columns, rows by themselves."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe.learning.learner import LEARNERS
from qe.learning.selector import SELECTORS
from qe.models.pipeline import Candidate, fit
from tests.learning.learners.test_learners import QUICK

pytestmark = pytest.mark.slow


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
