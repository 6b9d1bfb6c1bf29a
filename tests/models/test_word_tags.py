"""WordTags: calibration that is known, thresholds that are best, what is saved, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from features.basics.array_types import BoolArray, FloatArray
from qe.models.word_tags import PlaceTags, WordTags
from tests.factories import refuses


def too_sure(n: int, seed: int) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Tags, true probabilities, and those of a model whose log-odds are twice as large, and too low by 1."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1.5, 1, n)
    true = 1 / (1 + np.exp(-odds))
    return rng.random(n) < true, true, 1 / (1 + np.exp(-(2 * odds - 1)))


@pytest.mark.slow
def test_calibration_undoes_what_is_known() -> None:
    bad, true, said = too_sure(200_000, 0)
    learned = PlaceTags.fit(bad, said)
    assert learned is not None
    assert (learned.slope, learned.intercept) == pytest.approx((0.5, 0.5), abs=0.04)  # 4 standard errors
    assert np.abs(learned.probability(said) - true).max() < 0.02
    assert (learned.n, learned.bad) == (200_000, bad.sum())


@pytest.mark.slow
def test_thresholds_are_the_best_of_all() -> None:
    bad, _, said = too_sure(400, 1)
    learned = PlaceTags.fit(bad, said)
    assert learned is not None
    calibrated = learned.probability(said)
    values = np.unique(calibrated)
    tags = calibrated >= learned.threshold("mcc")
    assert matthews_corrcoef(bad, tags) == pytest.approx(
        max(matthews_corrcoef(bad, calibrated >= value) for value in values)
    )
    tags = calibrated >= learned.threshold("f1_mult")

    def f1_mult(guess: BoolArray) -> float:
        return float(f1_score(bad, guess) * f1_score(~bad, ~guess, zero_division=0))

    assert f1_mult(tags) == pytest.approx(max(f1_mult(calibrated >= value) for value in values))


def test_where_nothing_can_be_learned() -> None:
    assert PlaceTags.fit(np.zeros(5, bool), np.linspace(0, 1, 5)) is None
    against = PlaceTags.fit(np.arange(100) < 30, np.linspace(0, 1, 100))  # the lower, the more often BAD
    assert against is not None
    np.testing.assert_allclose(against.probability(np.array([0.0, 0.5, 1.0])), 0.3, atol=1e-6)
    assert against.threshold("mcc") == against.threshold("f1_mult") == 1  # all are OK


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    bad, _, said = too_sure(500, 2)
    learned = PlaceTags.fit(bad, said)
    assert learned is not None
    tags = WordTags({"word": learned}, 1.25)
    assert WordTags.find(tmp_path) is None  # models of before
    tags.save(tmp_path)
    assert WordTags.load(tmp_path) == tags


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "unknown key .version"),
        ({"insertions": 0.5}, "insertions"),
        ({"places": {"word": {"slope": 1}}}, "is missing"),
        ({"places": {"word": {"slope": -1.0}}}, "slope"),
        ({"places": {"word": {"mcc": 1.5}}}, "0 .. 1"),
    ],
)
def test_damage_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    good = {"slope": 1.0, "intercept": 0.0, "f1_mult": 0.3, "mcc": 0.2, "n": 5, "bad": 2}
    content: dict[str, object] = {"insertions": 1.0, "places": {"word": good}}
    if "places" in change:
        (own,) = change["places"].values()  # type: ignore[attr-defined]
        change = {"places": {"word": own if own == {"slope": 1} else {**good, **own}}}
    (tmp_path / "word_tags.json").write_text(json.dumps(content | change))
    refuses(message, WordTags.load, tmp_path)
