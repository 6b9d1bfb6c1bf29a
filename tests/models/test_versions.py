"""A model warns where packages that make columns are others."""

import logging
from pathlib import Path

import pytest

from qe.models.description import MAKERS, differing, versions, warn_of_versions
from qe.models.model import Model


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
