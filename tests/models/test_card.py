"""What a model says of its origin: in its card, in reports."""

from datetime import date
from pathlib import Path
from typing import Any

from qe.models import description
from qe.models.card import origin


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
