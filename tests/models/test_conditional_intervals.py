"""Prediction intervals in groups and under weights: each is held as often as was asked for."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qe.data import LabelScale
from qe.evaluation.coverage import Coverage, coverage, label_cuts
from qe.models import ByColumn, Prediction
from qe.models.intervals import CalibrationRows as Rows
from qe.models.intervals import (
    DensityRatio,
    Difficulty,
    Intervals,
    conformal_quantile,
    cross_conformal,
    split_conformal,
    weighted_quantiles,
)
from qe.models.taxonomy import TAXONOMIES, Grouping
from tests.factories import refuses
from tests.models.test_intervals import EFFORT, OPEN, Data
from tests.models.test_intervals import held_out as folds

Floats = NDArray[np.float64]
# Printed by crepes 0.9.1 (pip install crepes): level -> bounds of three new rows. Levels are such that its
# int((1 - level) * (n + 1)) does not round 2 down to 1.
CREPES = {
    0.5: [[0.6239024390243902, 1.7760975609756096], [2.0770034843205574, 3.7229965156794425],
          [3.9910898379970545, 5.608910162002945]],
    0.85: [[0.32877697841726616, 2.0712230215827336], [1.6553956834532373, 4.144604316546762],
           [2.484696569920844, 7.115303430079155]],
    0.92: [[-0.34279379157427936, 2.7427937915742793], [0.6960088691796007, 5.103991130820399],
           [1.3065193370165744, 8.293480662983425]],
}  # fmt: skip
CREPES_WHOLE = [[0.3453488372093023, 2.0546511627906976], [1.6790697674418604, 4.120930232558139],
                [3.2127906976744187, 6.387209302325581]]  # fmt: skip


def regression(n: int, seed: int) -> Data:
    """A feature that says little of a label on 1 .. 5: predictions stay near the middle, as QE models do."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    gold = np.clip(3.4 + 0.5 * features[:, 0] + 0.7 * rng.normal(size=n), 1, 5)
    return features, 3.4 + 0.5 * features[:, 0], gold


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0.05, 0.97))
def test_weighted_quantiles_by_their_definition(seed: int, n: int, level: float) -> None:
    """The smallest score up to which the shares p_i reach the level (Tibshirani et al. 2019, 7)."""
    rng = np.random.default_rng(seed)
    scores, weights, new = np.sort(rng.random(n)), rng.random(n) + 0.01, rng.random(3) + 0.01
    for weight, given_quantile in zip(new, weighted_quantiles(scores, weights, new, level), strict=True):
        shares = [weights[scores <= v].sum() / (weights.sum() + weight) for v in scores]
        reached = [v for v, share in zip(scores, shares, strict=True) if share >= level]
        assert given_quantile == min(reached, default=math.inf)
    if level / (1 - level) <= n:
        plain = weighted_quantiles(scores, np.ones(n), np.ones(1), level)[0]
        assert plain == conformal_quantile(scores, level)


def test_groups_give_the_intervals_of_crepes() -> None:
    """crepes 0.9.1: ConformalRegressor().fit(err, sigmas=sig, bins=bins).predict_int(new, ...)."""
    rng = np.random.default_rng(5)
    predicted, errors = rng.uniform(1, 5, 40), rng.normal(size=40)
    sigmas = np.round(rng.uniform(0.5, 1.5, 40), 3)
    predicted, errors = np.round(predicted, 3), np.round(errors, 3)
    new, new_sigmas = np.array([1.2, 2.9, 4.8]), np.array([0.7, 1.0, 1.3])
    # A difficulty that is the only feature itself: error = 1 + 1 x (feature - 1).
    difficulty = Difficulty(np.zeros(1), np.array([1.0, 0, 0]), np.array([1.0, 0, 0]), 1.0, 1.0)
    plain = Intervals(difficulty, np.zeros(0), OPEN)
    rows = sigmas[:, None], predicted, predicted + errors
    outcome = Intervals(difficulty, np.zeros(0), OPEN, taxonomy=Prediction([3.0])).recalibrated(Rows(*rows))
    for level, expected in CREPES.items():
        bounds = np.column_stack(outcome.bounds(new_sigmas[:, None], new, level))
        np.testing.assert_allclose(bounds, expected, atol=1e-9)
    whole = np.column_stack(plain.recalibrated(Rows(*rows)).bounds(new_sigmas[:, None], new, 0.8))
    np.testing.assert_allclose(whole, CREPES_WHOLE, atol=1e-9)


def held(computed: Intervals, data: Data, level: float, column: tuple[str, ...] = ()) -> NDArray[np.bool_]:
    features, predicted, gold = data
    low, high = computed.bounds(features, predicted, level, column)
    return (low <= gold) & (gold <= high)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_bands_of_labels_are_each_held(level: float) -> None:
    calibration, new = regression(4000, 1), regression(20_000, 2)
    edges = (2.0, 3.0, 4.0)
    plain = cross_conformal(Rows(*calibration), folds(4000), EFFORT, levels=())
    by_label = cross_conformal(
        Rows(*calibration), folds(4000), EFFORT, levels=(), grouping=Grouping("label", edges=edges)
    )
    bad = new[2] < 2
    assert held(plain, new, level)[bad].mean() < level - 0.25  # what this taxonomy is for
    for first, last in zip((1, *edges), (*edges, 5.1), strict=True):
        band = (first <= new[2]) & (new[2] < last)
        error = math.sqrt(level * (1 - level) * (1 / band.sum() + 1 / (band.sum() / 5)))
        assert held(by_label, new, level)[band].mean() > level - 4 * error
    low, high = by_label.bounds(new[0], new[1], level)
    narrow, wide = plain.bounds(new[0], new[1], level)
    assert np.mean(high - low) > np.mean(wide - narrow)


@pytest.mark.slow
def test_bands_of_predictions_and_values_of_a_column_are_each_held() -> None:
    rng = np.random.default_rng(3)

    def drawn(n: int) -> tuple[Data, tuple[str, ...]]:
        predicted = rng.uniform(1, 5, n)
        system = rng.integers(0, 2, n)
        spread = np.where(predicted > 3, 1.0, 0.2) * np.where(system == 1, 3.0, 1.0)
        features = rng.normal(size=(n, 1))  # the difficulty cannot see what makes errors large
        return (features, predicted, predicted + spread * rng.normal(size=n)), tuple("ab"[i] for i in system)

    (calibration, own), (new, other) = drawn(6000), drawn(20_000)
    by_prediction = cross_conformal(
        Rows(*calibration), folds(6000), OPEN, grouping=Grouping("prediction", bands=4), levels=(0.8,)
    )
    plain = cross_conformal(Rows(*calibration), folds(6000), OPEN, levels=())
    quarters = np.array_split(np.argsort(new[1]), 4)
    in_quarters = [[held(one, new, 0.8)[rows].mean() for rows in quarters] for one in (plain, by_prediction)]
    assert max(abs(share - 0.8) for share in in_quarters[0]) > 0.08
    assert max(abs(share - 0.8) for share in in_quarters[1]) < 0.03
    assert by_prediction.measured[0].coverage == pytest.approx(0.8, abs=0.02)
    grouping = Grouping("column", column="system")
    by_system = cross_conformal(Rows(*calibration, own), folds(6000), OPEN, grouping=grouping, levels=())
    assert by_system.columns == ("system",)
    for name in "ab":
        rows = np.array(other) == name
        assert held(by_system, new, 0.8, other)[rows].mean() == pytest.approx(0.8, abs=0.03)
        assert abs(held(plain, new, 0.8)[rows].mean() - 0.8) > 0.08
    low, high = by_system.bounds(new[0][:2], new[1][:2], 0.8, ("a", "new"))
    assert np.isfinite([low[0], high[0]]).all() and np.isnan([low[1], high[1]]).all()
    split = split_conformal(
        by_system, Rows(*(part[:500] for part in new), ("c", *other[1:500])), levels=(0.8,)
    )
    assert isinstance(split.taxonomy, ByColumn) and split.taxonomy.values == ["a", "b", "c"]


def test_a_group_with_too_few_rows_has_the_whole_scale_or_nothing() -> None:
    features, predicted, gold = regression(300, 4)
    column = ("rare",) * 3 + ("often",) * 297
    grouping = Grouping("column", column="system")
    for scale, expected in ((EFFORT, [1.0, 5.0]), (OPEN, [np.nan, np.nan])):
        calibrated = cross_conformal(
            Rows(features, predicted, gold, column), folds(300), scale, grouping=grouping, levels=()
        )
        low, high = calibrated.bounds(features[:1], predicted[:1], 0.9, ("rare",))
        np.testing.assert_array_equal([low[0], high[0]], expected)
    refuses("0.999 needs 999 .* 297", calibrated.bounds, features[:1], predicted[:1], 0.999, ("often",))


@pytest.mark.slow
def test_weights_follow_a_shift_of_the_inputs() -> None:
    """Inputs move from N(0, 1) to N(1.5, 1): the log of the density ratio is 1.5 x - 1.125."""
    rng = np.random.default_rng(6)

    def drawn(n: int, mean: float) -> Data:
        x = rng.normal(mean, 1, n)
        return x[:, None], 0.1 * x, 0.1 * x + np.exp(0.5 * x) * rng.normal(size=n)

    calibration, new = drawn(8000, 0.0), drawn(8000, 1.5)
    shift = DensityRatio.fit(*calibration[:2], *new[:2])
    x = np.linspace(-1, 2, 7)
    np.testing.assert_allclose(np.log(shift.weights(x[:, None], 0.1 * x)), 1.5 * x - 1.125, atol=0.25)
    flat = Difficulty(np.zeros(1), np.zeros(3), np.zeros(3), 1.0, 1.0)
    plain = Intervals(flat, np.zeros(0), OPEN).recalibrated(Rows(*calibration))
    weighted = Intervals(flat, np.zeros(0), OPEN, shift=shift).recalibrated(Rows(*calibration))
    test = drawn(20_000, 1.5)
    assert held(plain, test, 0.8).mean() < 0.6
    assert held(weighted, test, 0.8).mean() == pytest.approx(0.8, abs=0.03)
    assert weighted.effective < 0.5 * len(weighted.scores)
    cross = cross_conformal(Rows(*calibration), folds(8000), OPEN, shift=shift, levels=(0.8,))
    assert cross.measured[0].coverage == pytest.approx(0.8, abs=0.05)
    same = DensityRatio.fit(*calibration[:2], *drawn(8000, 0.0)[:2])
    assert np.abs(np.log(same.weights(x[:, None], 0.1 * x))).max() < 0.1


def test_row_weights_move_the_quantile_to_the_rows_that_count() -> None:
    """Half of the rows have three times the error: with weight 1 beside 1e-6, theirs is the quantile."""
    rng = np.random.default_rng(8)
    noisy = rng.random(4000) < 0.5
    predicted = rng.uniform(1, 5, 4000)
    gold = predicted + np.where(noisy, 3.0, 1.0) * rng.normal(size=4000)
    features = rng.normal(size=(4000, 1))
    weights = np.where(noisy, 1.0, 1e-6)
    calibrated = cross_conformal(
        Rows(features, predicted, gold, weights=weights), folds(4000), OPEN, levels=(0.5,)
    )
    low, high = calibrated.bounds(features, predicted, 0.5)
    assert np.mean((low <= gold) & (gold <= high), where=noisy) == pytest.approx(0.5, abs=0.02)
    assert calibrated.measured[0].coverage == pytest.approx(0.5, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("by", TAXONOMIES.names)
def test_every_taxonomy_is_saved_and_loaded(by: str, tmp_path: Path) -> None:
    features, predicted, gold = regression(400, 9)
    column = tuple("ab"[i % 2] for i in range(400))
    grouping = Grouping(by, bands=3, column="system")
    shift = DensityRatio.fit(features, predicted, features[::2] + 1, predicted[::2])
    weights = np.linspace(1, 2, 400)
    calibrated = cross_conformal(
        Rows(features, predicted, gold, column, weights), folds(400), EFFORT, grouping=grouping, shift=shift
    )
    calibrated.save(tmp_path)
    loaded = Intervals.load(tmp_path)
    assert loaded.taxonomy == calibrated.taxonomy and loaded.measured == calibrated.measured
    for level in (0.5, 0.9):
        first, second = (one.bounds(features, predicted, level, column) for one in (calibrated, loaded))
        np.testing.assert_array_equal(first, second)
    groups = np.load(tmp_path / "intervals.groups.npy")
    np.save(tmp_path / "intervals.groups.npy", groups + 50)
    refuses("`groups` must be in", Intervals.load, tmp_path)


def test_coverage_by_band_by_hand() -> None:
    gold = np.array([1.0, 1.5, 2.0, 4.9, 5.0])
    low, high = np.array([1.0, 2, 2, 4, 4]), np.array([2.0, 3, 4, 5, 4.5])
    predicted = np.array([1.0, 2, 3, 4, 5])
    shares = coverage(gold, low, high, 0.8, predicted=predicted, scale=EFFORT)
    assert shares.coverage == 0.6 and shares.width == pytest.approx(5.5 / 5)
    bands = [(band.low, band.high, band.n) for band in shares.by_label]
    assert bands == [(1, 2, 2), (2, 3, 1), (3, 4, 0), (4, 5, 2)]
    assert [band.coverage for band in shares.by_label if band.n] == [0.5, 1, 0.5]
    assert [band.coverage for band in shares.by_prediction] == [1, 0, 1, 1, 0]
    content = shares.to_json()
    assert content["by_label"][2]["coverage"] is None and json.dumps(content, allow_nan=False)
    again = Coverage.from_json(content)
    assert again.by_prediction == shares.by_prediction and again.by_label[:2] == shares.by_label[:2]
    assert shares.by_label[0].coverage == 0.5 and np.isnan(shares.by_label[2].coverage)
    weighted = coverage(gold, low, high, 0.8, weights=np.array([1.0, 3, 1e-9, 1e-9, 1e-9]))
    assert weighted.coverage == pytest.approx(0.25)
    hter = LabelScale("hter", 0, 1, False)
    assert label_cuts(gold, hter) == pytest.approx([0.2, 0.4, 0.6, 0.8])
