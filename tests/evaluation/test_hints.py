"""Hints: what looks reversed, shifted or off the scale is asked about, and nothing else is."""

import numpy as np
import pytest
from scipy import stats

from qe.data.dataset import LabelScale
from qe.evaluation.evaluate import evaluate, hints, rank_correlation

EFFORT, HTER = LabelScale("effort", 1, 5, True), LabelScale("hter", 0, 1, False)


def task(n: int = 400, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    gold = np.round(rng.uniform(1, 5, n), 1)
    return gold, gold + rng.normal(0, noise, n)


def test_a_reversed_system_is_asked_about() -> None:
    gold, good = task()
    (asked,) = hints(gold, {"good": good, "turned": 6 - good}, [], EFFORT)
    assert "'turned' ranks against the labels" in asked
    assert any(asked in note for note in evaluate(gold, {"t": good, "turned": 6 - good}, EFFORT).notes)


@pytest.mark.parametrize(("shift", "location"), [(1, "one line late"), (-1, "one line early")])
def test_a_shifted_file_is_asked_about(shift: int, location: str) -> None:
    gold, good = task()
    (asked,) = hints(gold, {"moved": np.roll(good, shift)}, [], EFFORT)
    assert location in asked and "shifted" in asked


def test_another_scale_and_lines_of_other_segments_are_asked_about() -> None:
    gold, good = task()
    mixed = np.random.default_rng(0).permutation(good)
    (asked,) = hints(gold, {"percent": 20 * good}, [], EFFORT)
    assert "is it on the scale of effort?" in asked
    (asked,) = hints(gold, {"share": good / 5}, [], EFFORT)
    assert "is it on the scale of effort?" in asked
    z = (gold - gold.mean()) / gold.std()
    wide = 3 * z + np.random.default_rng(1).normal(0, 1, len(z))  # -9 .. 7 beside z-scores
    (asked,) = hints(z, {"wide": wide}, [], LabelScale("z", None, None, True))
    assert "errs 2.1 times as much as the mean label would" in asked
    assert hints(z, {"biased": 0.2 + z}, [], LabelScale("z", None, None, True)) == []
    (asked,) = hints(gold, {"good": good, "mixed": mixed}, ["good"], EFFORT)
    assert "'mixed' ranks far worse than every baseline" in asked


@pytest.mark.slow
def test_ordinary_systems_are_not_asked_about() -> None:
    """2,000 systems without any skill, and autocorrelated labels: chance asks less than once in 500."""
    rng = np.random.default_rng(1)
    asked = 0
    for _ in range(2000):
        gold = np.round(rng.uniform(1, 5, 60), 1)
        asked += bool(hints(gold, {"s": rng.uniform(1, 5, 60), "b": rng.uniform(1, 5, 60)}, ["b"], EFFORT))
    assert asked <= 4
    gold = np.repeat(np.random.default_rng(2).uniform(0, 1, 40), 10)  # documents: neighbours are alike
    assert hints(gold, {"s": np.clip(gold + rng.normal(0, 0.2, 400), 0, 1)}, [], HTER) == []
    assert hints(gold[:3], {"s": -gold[:3]}, [], HTER) == []


def test_rank_correlation_is_spearmans() -> None:
    gold, good = task(50)
    assert rank_correlation(gold, good) == pytest.approx(stats.spearmanr(gold, good)[0])
    assert np.isnan(rank_correlation(gold, np.ones(50)))
