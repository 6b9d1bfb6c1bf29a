"""Labels and predictions without a usable spread: metrics, tests and intervals are numbers or undefined."""

import math

import numpy as np
import pytest

from features.basics.errors import InputError
from qe.data.dataset import LabelScale
from qe.evaluation.evaluate import TESTS, evaluate
from qe.evaluation.power import power
from qe.evaluation.tables import notes, report_tables
from qe.statistics.bayesian import bayesian_comparisons
from qe.statistics.buckets import by_name
from qe.statistics.metric import METRICS
from qe.statistics.settings import PowerSettings, SignificanceSettings

pytestmark = pytest.mark.slow

TINY = 5e-324
ROWS = 24
SCALE = LabelScale("quality", None, None, higher_is_better=True)
_RNG = np.random.default_rng(0)
_NORMAL = _RNG.normal(3, 1, ROWS)
COLUMNS = {
    "two tiny values": np.where(_RNG.random(ROWS) < 0.5, TINY, 0.0),
    "tiny steps": np.arange(ROWS) * TINY,
    "constant": np.zeros(ROWS),
    "constant and tiny": np.full(ROWS, TINY),
    "one tiny value": np.eye(1, ROWS, 3)[0] * TINY,
    "tiny beside one": np.where(np.arange(ROWS) == 2, 1.0, _RNG.integers(0, 3, ROWS) * TINY),
    "neighbouring floats": 1 + _RNG.integers(0, 2, ROWS) * 2.0**-52,
    "huge": _NORMAL * 1e99,
    "normal": _NORMAL,
}
FIRST, SECOND = [f"x{i % 2}" for i in range(ROWS)], [f"y{i % 3}" for i in range(ROWS)]


def numbers(value):
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers(each)
    elif isinstance(value, float):
        yield value


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("labels", COLUMNS)
def test_every_metric_test_and_interval_is_finite_or_undefined(labels, test):
    gold = COLUMNS[labels]
    for name, predicted in COLUMNS.items():
        predictions = {"a": predicted, "b": COLUMNS["normal"], "c": COLUMNS["two tiny values"]}
        report = evaluate(
            gold,
            predictions,
            SCALE,
            SignificanceSettings(samples=39, test=test),
            metrics=METRICS.names,
            margins={"mae": 0.1},
            buckets=() if test in ("tukey", "scheffe") else [by_name("half", "", FIRST)],
        )
        assert all(math.isfinite(value) for value in numbers(report.to_json())), name
        assert report_tables(report) and notes(report)


@pytest.mark.parametrize("labels", [name for name in COLUMNS if "tiny" in name and "constant" not in name])
def test_a_spread_that_cannot_be_squared_has_a_note(labels):
    report = evaluate(COLUMNS[labels], {"a": COLUMNS["tiny steps"]}, SCALE, SignificanceSettings(samples=0))
    assert any("differ by" in note for note in report.notes)


@pytest.mark.parametrize("labels", COLUMNS)
def test_groups_of_two_kinds_and_bayes(labels):
    gold, predictions = COLUMNS[labels], {"a": COLUMNS["tiny steps"], "b": COLUMNS["normal"]}
    groups = {"document": FIRST, "judge": SECOND}
    report = evaluate(
        gold, predictions, SCALE, SignificanceSettings(samples=39), metrics=METRICS.names, groups=groups
    )
    assert all(math.isfinite(value) for value in numbers(report.to_json()))
    for folds in (None, SECOND):
        for one in bayesian_comparisons(gold, predictions, {"mae": 0.1}, folds=folds, samples=50):
            assert one.undecided or one.better + one.equal + one.worse == pytest.approx(1)


@pytest.mark.parametrize("metric", ["mae", "pearson"])
@pytest.mark.parametrize("labels", ["tiny steps", "tiny beside one", "normal"])
def test_power_is_found_or_refused(metric, labels):
    settings = PowerSettings(simulations=100, samples=19)
    pilot = COLUMNS[labels], COLUMNS["tiny steps"], COLUMNS["normal"]
    try:
        report = power(*pilot, metrics=[metric], size=5, settings=settings, gains={metric: TINY})
    except InputError:
        return
    assert all(math.isfinite(value) for value in numbers(report.to_json()))
