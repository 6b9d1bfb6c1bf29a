"""Results show themselves: at most 15 lines at a prompt, a table in a notebook."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qe
from features.basics.short_repr import LINES
from qe.display.numbers import number
from tests.factories import refuses

RNG = np.random.default_rng(0)
GOLD = RNG.normal(size=60)
MANY = {f"system {i}": GOLD + RNG.normal(size=60) for i in range(30)}


def shows_itself(value: Any, *texts: str) -> None:
    """Checks that both forms are short enough and hold the texts."""
    lines, page = repr(value).splitlines(), value._repr_html_()
    assert 1 < len(lines) <= LINES and max(map(len, lines)) <= 80, repr(value)
    assert "<table" in page and "</table>" in page
    for text in texts:
        assert text in repr(value) and text in page


def test_a_model_shows_what_it_was_made_of(demo_model: Path, demo_run: Any) -> None:
    loaded = qe.load_model(demo_model)
    for model in (loaded, loaded.model, demo_run.model):
        shows_itself(model, loaded.model.name, loaded.model.candidate.learner, "en to es")
    assert str(demo_model) in loaded._repr_html_()


def test_an_outcome_shows_its_figures(demo_run: Any) -> None:
    name = demo_run.report["experiment"]["name"]
    part = demo_run.report["test"] or demo_run.report["cross_validation"]
    shows_itself(demo_run, name, number(part["systems"][name]["mae"], 3))


@pytest.mark.slow
def test_an_evaluation_of_many_systems_is_short_and_its_page_is_whole() -> None:
    report = qe.evaluate(GOLD, MANY, higher_is_better=True, samples=0)
    shows_itself(report, "DeltaAvg")
    assert "more lines" in repr(report)
    assert all(f">{name}<" in report._repr_html_() for name in MANY)
    best = max(report.systems, key=lambda name: report.score(name, "delta_avg"))
    assert repr(report).index(best) < repr(report).index("more lines")


@pytest.mark.slow
def test_datasets_experiments_and_comparisons_show_themselves() -> None:
    import pandas as pd

    table = pd.DataFrame({"source": ["a", "b"], "target": ["c", "d"], "hter": [0.25, 0.75]})
    data = qe.Dataset.from_frame(
        {"train": table, "test": table}, "hter", source_language="en", target_language="de"
    )
    shows_itself(data, "train", "test", "0.50")
    shows_itself(data.split("train"))
    shows_itself(qe.load_experiment(EXPERIMENT), "small", "ridge")
    references = ["the house", "a cat sleeps", "he reads"]
    shows_itself(qe.compare({"a": references, "b": references[::-1]}, references, samples=20), "BLEU")


EXPERIMENT = {"name": "small", "features": ["surface"], "learner": {"kind": "ridge"}}


def test_text_of_a_user_is_no_markup() -> None:
    report = qe.evaluate([1, 2, 3, 4], {"<b>": [1, 2, 3, 4]}, higher_is_better=True, samples=0)
    assert "<b>" not in report._repr_html_() and "&lt;b&gt;" in report._repr_html_()


def test_unknown_names_are_input_errors_with_a_hint() -> None:
    gold, scores = [1, 2, 3, 4], {"a": [1, 2, 3, 4], "b": [4, 2, 3, 1]}
    report = qe.evaluate(gold, scores, higher_is_better=True, samples=20)
    refuses("did you mean 'mae'", qe.evaluate, gold, scores, metrics=["maee"], higher_is_better=True)
    refuses("did you mean 'mae'", report.score, "a", "maee")
    refuses("unknown system 'ridge'", report.score, "ridge", "mae")
    refuses(r"there is comparison\('a', 'b', 'mae'\)", report.comparison, "b", "a", "mae")
