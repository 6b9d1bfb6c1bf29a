"""Our metrics where scikit-learn asks for a scorer: GridSearchCV, cross_val_score, ..."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from qe.statistics.metric import METRICS, Metric


def scorer(metric: str, *, higher_is_better: bool = True) -> Any:
    """A scorer for scikit-learn, by which higher is better: errors are negative.

    Parameters
    ----------
    metric : str
        Name of a file in qe/statistics/metrics.
    higher_is_better : bool, default=True
        Direction of the labels; False for error rates such as HTER.

    Raises
    ------
    qe.InputError
        For an unknown metric.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 6.0])
    >>> float(scorer("mae")(DummyRegressor().fit(X, y), X, y))
    -1.5
    """
    found = METRICS.get(metric)()
    sign = 1.0 if higher_is_better else -1.0
    return make_scorer(partial(_score, found, sign), greater_is_better=found.higher_is_better)


def _score(metric: Metric, sign: float, gold: ArrayLike, predicted: ArrayLike) -> float:
    return metric.score(sign * np.asarray(gold, np.float64), sign * np.asarray(predicted, np.float64))
