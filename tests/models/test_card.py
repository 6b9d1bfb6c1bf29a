"""What a model says of its origin and of other packages; what it has learned of words."""

import logging
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from features.basics.array_types import BoolArray, FloatArray
from qe.models import description
from qe.models.card import origin
from qe.models.description import MAKERS, differing, versions, warn_of_versions
from qe.models.model import Model
from qe.models.word_tags import PlaceTags, WordTags


def trained(model: Path) -> str:
    """The day that a model names: today, or yesterday if the tests have run past midnight."""
    day = str(description.read(model).about["trained"])
    assert date.today() - date.fromisoformat(day) <= timedelta(days=1)
    return day


def test_the_card_says_what_the_model_was_trained_on(demo_run: Any, demo_model: Path) -> None:
    text = (demo_model / "README.md").read_text("utf-8")
    shown = "# demo", "Predicts effort", "svr_rbf", "en to es", "train 240", "Spearman", trained(demo_model)
    assert [each for each in shown if each not in text] == []
    assert "Perturbed translations: destroyed translations score below their original in" in text
    assert "README.md" in description.read(demo_model).files  # under the checksum


def test_the_origin_in_a_sentence(demo_model: Path) -> None:
    told = origin(description.read(demo_model))
    assert told.startswith(f"Trained on {trained(demo_model)} on 240 en-es rows of ")
    assert told.endswith("with labels of effort from 1 to 5.")


def test_only_what_is_recorded_and_differs_is_told(caplog: pytest.LogCaptureFixture) -> None:
    here = versions()
    assert {"numba", "regex", "sacremoses", "simplemma"} <= set(here)
    assert {"regex", "onnxruntime"} <= set(MAKERS)
    assert differing({"versions": here}) == {} == differing({})
    others = {"versions": {**here, "regex": "0.1", "scipy": "0.1", "jieba": "0.2"}}
    assert differing(others)["regex"] == ("0.1", here["regex"])
    assert "scipy" not in differing(others)
    assert differing({"recipe": others})["regex"] == ("0.1", here["regex"])
    with caplog.at_level(logging.WARNING, "qe.models"):
        warn_of_versions(others, Path("m"))
    assert "m: trained with " in caplog.text and f"regex 0.1 (here {here['regex']})" in caplog.text


def test_a_model_says_so_when_it_is_loaded(
    demo_model: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.WARNING, "qe.models"):
        Model.load(demo_model)
        assert not caplog.text
        monkeypatch.setattr("qe.models.description.installed", lambda *names: {"regex": "9.9"})
        Model.load(demo_model)
    assert "(here 9.9)" in caplog.text and "sacremoses" in caplog.text


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
    assert (learned.slope, learned.intercept) == pytest.approx((0.5, 0.5), abs=0.04)  # 4 standard errors
    assert np.abs(learned.probability(said) - true).max() < 0.02
    assert (learned.n, learned.bad) == (200_000, bad.sum())


@pytest.mark.slow
def test_thresholds_are_the_best_of_all() -> None:
    bad, _, said = too_sure(400, 1)
    learned = PlaceTags.fit(bad, said)
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
    np.testing.assert_allclose(against.probability(np.array([0.0, 0.5, 1.0])), 0.3, atol=1e-6)
    assert against.threshold("mcc") == against.threshold("f1_mult") == 1  # all are OK


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    bad, _, said = too_sure(500, 2)
    learned = PlaceTags.fit(bad, said)
    tags = WordTags({"word": learned}, 1.25)
    assert WordTags.find(tmp_path) is None  # models of before
    tags.save(tmp_path)
    assert WordTags.load(tmp_path) == tags
