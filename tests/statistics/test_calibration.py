"""Type I error on simulated null hypotheses; the large version: studies/significance_calibration.py."""

import numpy as np
import pytest
from numpy.typing import NDArray

from qe.statistics.resampling import bootstrap_scores, bootstrap_test, randomization_test

Floats = NDArray[np.float64]
SIMULATIONS, SEGMENTS, SAMPLES = 800, 100, 399


def mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def scored(values: Floats) -> Floats:
    return np.stack([values, np.ones_like(values)], axis=-1)


@pytest.mark.slow
def test_defaults_hold_the_level_and_the_published_rules_do_not() -> None:
    rng = np.random.default_rng(11)
    rejected = dict.fromkeys(("randomization", "centred", "win-ratio", "shifted"), 0)
    for simulation in range(SIMULATIONS):
        segment = rng.normal(size=SEGMENTS)
        a, b = (scored(segment + rng.normal(size=SEGMENTS)) for _ in range(2))
        exchanged = randomization_test(a, b, mean, samples=SAMPLES, seed=simulation)
        rejected["randomization"] += exchanged.p <= 0.05
        one, other = bootstrap_scores(np.stack([a, b]), mean, samples=SAMPLES, seed=simulation)
        for method in ("centred", "win-ratio", "shifted"):
            outcome = bootstrap_test(one, other, exchanged.difference, method=method)
            rejected[method] += outcome.p <= 0.05
    rates = {name: count / SIMULATIONS for name, count in rejected.items()}
    assert 0.03 <= rates["randomization"] <= 0.07
    assert 0.03 <= rates["centred"] <= 0.07
    assert rates["win-ratio"] > 0.08 and rates["shifted"] > 0.08
