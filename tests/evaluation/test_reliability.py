"""Calibration error: bins of equal mass by hand, closed forms, and what chance makes of it."""

import numpy as np
import pytest

from features.basics.array_types import BoolArray, FloatArray
from qe.evaluation.word_level import (
    BINS,
    calibration_sums,
    ece,
    ece_by_chance,
    equal_mass_bins,
    evaluate_words,
    reliability,
)
from qe.statistics.settings import CorrectionSettings


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


@pytest.mark.slow
def test_true_probabilities_have_the_error_of_chance_and_no_interval() -> None:
    """60 segments whose words go together: the mean error of 300 test sets is what each of them expects."""
    errors, expected = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        offsets = np.concatenate([[0], np.cumsum(rng.integers(5, 30, 60))])
        level = np.repeat(rng.normal(0, 1, 60), np.diff(offsets)) + rng.normal(0, 1, offsets[-1]) - 1.2
        probability = 1 / (1 + np.exp(-level))
        sums = calibration_sums(rng.random(len(level)) < probability, probability, offsets)
        errors.append(float(ece(sums.sum(axis=0))))
        expected.append(ece_by_chance(sums))
    assert np.mean(expected) == pytest.approx(np.mean(errors), abs=0.002)  # both .042
    assert np.isnan(ece_by_chance(sums[:1]))


def test_what_a_report_says_of_calibration() -> None:
    gold, probability = drawn(4000, 2)
    offsets = np.arange(0, 4001, 10)
    shifted = np.minimum(probability + 0.05, 1)
    report = evaluate_words(
        gold,
        {"true": probability >= 0.3, "shifted": shifted >= 0.3},
        offsets,
        CorrectionSettings(samples=100),
        probabilities={"true": probability, "shifted": shifted},
    )
    for name in ("true", "shifted"):
        assert set(report.ci[name]) == {"mcc", "f1_mult", "f1_bad", "f1_ok"}
    true, other = report.scores["true"], report.scores["shifted"]
    assert true["ece"] == pytest.approx(true["ece_by_chance"], abs=0.01)
    assert other["ece"] > 2 * other["ece_by_chance"]
    assert report.to_json()["reliability"]["shifted"][0]["n"] == 200
