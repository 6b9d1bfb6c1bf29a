"""The four sets: sizes on the WMT12 training set, matching against all assignments, limits."""

from itertools import permutations

import numpy as np
import pytest

from features.edits.ter import ter
from qe_human.effort.sets import Limits, four_sets
from tests.factories import refuses
from tests.qe_human.effort.conftest import Training


def test_sizes_on_the_training_set(training: Training) -> None:
    """The paper kept 37 and 35 of these after it had dropped some."""
    rates = ter(*(side.words.lower() for side in training.sides)).rates
    low, high = four_sets(training.effort, rates)
    assert (low.name, len(low.low), len(low.high), low.unmatched) == ("low TER", 42, 42, 0)
    assert (high.name, len(high.low), len(high.high), high.unmatched) == ("high TER", 40, 40, 0)
    assert (training.effort[low.low] <= 2.5).all() and (rates[low.low] <= 0.33).all()
    assert (training.effort[high.high] >= 4).all() and (rates[high.high] >= 0.45).all()
    assert (training.effort[low.high] >= 4).all() and (training.effort[high.low] <= 2.5).all()
    assert low.difference < 0.005
    assert len(set(low.rows.tolist())) == 84 and len(set(high.rows.tolist())) == 80


def test_the_comparison_has_the_least_sum_of_differences() -> None:
    generator = np.random.default_rng(0)
    for seed in range(20):
        rates = np.round(np.concatenate([generator.uniform(0, 0.33, 4), generator.uniform(0, 1, 6)]), 2)
        effort = np.array([2.0] * 4 + [4.5] * 6)
        low, _ = four_sets(effort, rates, Limits(high_ter=2), seed)
        outcome = np.abs(rates[low.low] - rates[low.high]).sum()
        best = min(np.abs(rates[:4] - rates[list(other)]).sum() for other in permutations(range(4, 10), 4))
        assert outcome == pytest.approx(best, abs=1e-9)
        assert low.difference == pytest.approx(np.abs(rates[low.low] - rates[low.high]).max())


def test_the_lot_decides_between_equals() -> None:
    effort, rates = np.array([2.0] + [5.0] * 9), np.full(10, 0.2)
    chosen = {int(four_sets(effort, rates, seed=seed)[0].high[0]) for seed in range(60)}
    assert chosen == set(range(1, 10))
    assert four_sets(effort, rates, seed=3)[0].high == four_sets(effort, rates, seed=3)[0].high


def test_too_few_to_compare_with_and_none_at_all() -> None:
    low, high = four_sets(np.array([1.0, 1, 5]), np.array([0.1, 0.3, 0.12]))
    assert low.low.tolist() == [0] and low.high.tolist() == [2] and low.unmatched == 1
    assert len(high.rows) == 0 and np.isnan(high.difference) and high.unmatched == 0


def test_limits_must_be_in_order() -> None:
    refuses("low <= high must hold .* 4.0 and 3.0", Limits, low_effort=4.0, high_effort=3.0)
