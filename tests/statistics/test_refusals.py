"""What statistics refuse, by the place that the message names."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from qe.evaluation.evaluate import evaluate_in_buckets
from qe.statistics import Mae, ResamplingSettings, randomization_test
from qe.statistics.bayesian import bayesian_comparisons, correlated_t, signed_rank
from qe.statistics.buckets import bands, by_name
from qe.statistics.comparisons import Scored
from qe.statistics.draws import Levels
from qe.statistics.intervals import williams_test
from qe.statistics.resampling import bootstrap_test, tukey_hsd
from tests.factories import refuses
from tests.statistics.metrics.test_metrics import all_metrics
from tests.statistics.test_bootstrap import mean
from tests.statistics.test_buckets import by_mae, columns

ONES, FIVE = np.ones((5, 2)), np.arange(5.0)
UNDEFINED = np.array([1.0, np.nan, 2.0, 3.0])
GOLD, SIDES = columns(20, 1)
LENGTH = bands("length", "", np.arange(20.0))
EACH = Scored.from_predictions(GOLD, SIDES, {"mae": Mae()}), []
LEVELS = Levels.from_groups(None, 20), ResamplingSettings(samples=0)
PARTS = {"a": np.arange(20) // 4, "b": np.arange(20) // 4}
# What is refused, the function and its arguments.
CASES: list[tuple[Any, ...]] = [
    ("2 runs, the baseline 3.*'run'", randomization_test, np.ones((2, 5, 2)), np.ones((3, 5, 2)), mean),
    ("5 segments x 2 statistics, the baseline 6 x 2", randomization_test, ONES, np.ones((6, 2)), mean),
    ("known: segment, segment-run, run, any", partial(randomization_test, exchange="coin"), ONES, ONES, mean),
    ("tail 'left'", partial(randomization_test, tail="left"), ONES, ONES, mean),
    ("samples must be 1 to", partial(randomization_test, samples=0), ONES, ONES, mean),
    ("5 segments, but 2 groups", partial(randomization_test, groups=[1, 2]), ONES, ONES, mean),
    ("none empty", randomization_test, np.ones((0, 2)), np.ones((0, 2)), mean),
    ("segment 1, run 1, column 1", randomization_test, ONES * np.nan, ONES, mean),
    ("2 folds or more", correlated_t, FIVE[:1], 0.1),
    ("wider than 0", signed_rank, FIVE, 0.0),
    ("one kind of units", partial(bayesian_comparisons, groups=PARTS), GOLD, SIDES, {"mae": 0.05}),
    ("100 % have the value 1", bands, "x", "", np.ones(5)),
    ("x of segment 2 is not finite", bands, "x", "", UNDEFINED),
    ("at least 2 bands", bands, "x", "", FIVE, 1),
    ("1 different names", by_name, "x", "", ["a", "a"]),
    ("named twice: length", by_mae, GOLD, SIDES, LENGTH, LENGTH),
    ("20 segments, but 5 values of length", by_mae, GOLD, SIDES, bands("length", "", FIVE)),
    ("pairwise tests", partial(by_mae, test="tukey"), GOLD, SIDES, LENGTH),
    ("there is one only", evaluate_in_buckets, *EACH, [LENGTH], *LEVELS),
    ("at least two systems", tukey_hsd, {"a": ONES}, mean),
    ("'b' has", tukey_hsd, {"a": ONES, "b": ONES[:4]}, mean),
    ("correlations must be in", williams_test, 1.5, 0.4, 0.3, 80),
    ("5 segments, but 20 groups", Levels.from_groups, {"document": np.arange(20)}, 5),
    ("known: centred, win-ratio, shifted", partial(bootstrap_test, method="koehn"), FIVE, FIVE, 0.0),
    ("bootstrap is two-sided", partial(bootstrap_test, method="shifted", tail="less"), FIVE, FIVE, 1.0),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_what_is_refused(case: tuple[Any, ...]) -> None:
    refuses(*case)


@pytest.mark.parametrize("metric", all_metrics())
def test_values_that_metrics_refuse(metric: Any) -> None:
    refuses("predicted must be finite", metric.score, UNDEFINED, FIVE[:4], error=ValueError)
    refuses("alike", metric.score, FIVE, FIVE[:4], error=ValueError)
