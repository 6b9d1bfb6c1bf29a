"""What a model says of its origin, and of packages that are others than in training."""

import logging
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from qe.models import description
from qe.models.card import origin
from qe.models.description import MAKERS, differing, versions, warn_of_versions
from qe.models.model import Model


def test_the_card_says_what_the_model_was_trained_on(demo_run: Any, demo_model: Path) -> None:
    text = (demo_model / "README.md").read_text("utf-8")
    shown = (
        "# demo",
        "Predicts effort",
        "svr_rbf",
        "en to es",
        "train 240",
        "Spearman",
        date.today().isoformat(),
    )
    assert [each for each in shown if each not in text] == []
    assert "Perturbed translations: destroyed translations score below their original in" in text
    assert "README.md" in description.read(demo_model).files  # under the checksum


def test_the_origin_in_a_sentence(demo_model: Path) -> None:
    told = origin(description.read(demo_model))
    assert told.startswith(f"Trained on {date.today().isoformat()} on 240 en-es rows of ")
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
