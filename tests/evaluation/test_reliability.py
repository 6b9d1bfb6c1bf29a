"""Calibration error: bins of equal mass by hand, closed forms, and its bootstrap."""

import numpy as np
import pytest

from features.basics.array_types import BoolArray, FloatArray
from qe.evaluation.reliability import BINS, calibration_sums, ece, equal_mass_bins, reliability
from qe.evaluation.word_level import evaluate_words
from qe.statistics.intervals import basic_interval, percentile_interval


def drawn(n: int, seed: int) -> tuple[BoolArray, FloatArray]:
    """Tags, and the probabilities that they were drawn with."""
    rng = np.random.default_rng(seed)
    probability = rng.beta(1, 4, n)
    return rng.random(n) < probability, probability


def by_hand(gold: BoolArray, probability: FloatArray, bins: int) -> float:
    """Sorted, cut into equal parts: the definition, for a number of tags that the bins divide."""
    order = np.argsort(probability)
    parts = zip(np.array_split(probability[order], bins), np.array_split(gold[order], bins), strict=True)
    return float(np.mean([abs(p.mean() - g.mean()) for p, g in parts]))


def test_it_is_the_definition() -> None:
    gold, probability = drawn(2000, 0)
    sums = calibration_sums(gold, probability, np.arange(0, 2001, 20))
    assert sums.shape == (100, BINS + 1)
    assert float(ece(sums.sum(axis=0))) == pytest.approx(by_hand(gold, probability, BINS))
    bins = reliability(gold, probability)
    assert [one.n for one in bins] == [100] * BINS
    assert sum(one.n * abs(one.predicted - one.observed) for one in bins) / 2000 == pytest.approx(
        by_hand(gold, probability, BINS)
    )


def test_equal_probabilities_share_a_bin() -> None:
    probability = np.repeat([0.1, 0.5], [30, 10])
    assert len(np.unique(equal_mass_bins(probability))) == 2
    gold = np.arange(40) % 10 == 0
    expected = (30 * abs(0.1 - gold[:30].mean()) + 10 * abs(0.5 - gold[30:].mean())) / 40
    assert float(ece(calibration_sums(gold, probability, np.array([0, 40])).sum(axis=0))) == pytest.approx(
        expected
    )


def test_true_probabilities_have_nearly_none_and_a_shift_is_found() -> None:
    gold, probability = drawn(100_000, 1)
    whole = np.array([0, len(gold)])
    assert float(ece(calibration_sums(gold, probability, whole)[0])) < 0.01
    shifted = float(ece(calibration_sums(gold, np.minimum(probability + 0.1, 1), whole)[0]))
    assert shifted == pytest.approx(0.1, abs=0.01)
    assert np.isnan(ece(np.zeros(BINS + 1)))


def test_the_interval_is_of_whole_segments_and_takes_the_bias_off() -> None:
    gold, probability = drawn(4000, 2)
    probability = np.minimum(probability + 0.05, 1)
    offsets = np.arange(0, 4001, 10)
    report = evaluate_words(
        gold, {"a": probability >= 0.3}, offsets, probabilities={"a": probability}, samples=2000
    )
    sums = calibration_sums(gold, probability, offsets)
    rows = np.random.default_rng(5).integers(0, 400, (2000, 400))
    scores = np.array([float(ece(sums[some].sum(axis=0))) for some in rows])
    low, high = np.quantile(scores, [0.025, 0.975])
    point = report.scores["a"]["ece"]
    assert report.ci["a"]["ece"] == pytest.approx((2 * point - high, 2 * point - low), abs=0.003)
    assert report.to_json()["reliability"]["a"][0]["n"] == 200


def test_a_basic_interval_is_a_percentile_interval_turned_around() -> None:
    scores = np.random.default_rng(0).normal(3, 1, 5000)
    low, high = percentile_interval(scores)
    assert basic_interval(scores, 2.5) == pytest.approx((5 - high, 5 - low))
    assert basic_interval(scores, 1.0, low=0.0) == pytest.approx((0, 2 - low))
    assert np.isnan(basic_interval(np.array([1, np.nan]), 1.0, low=0.0)).all()
