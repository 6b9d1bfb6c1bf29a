"""The battery: closed forms by judges whose scores are known, and the model of the demo."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features import FeatureSet, Segments, Tokenizer
from features.basics.array_types import FloatArray
from qe.data import LabelScale
from qe.data.perturbation import PERTURBATIONS, names
from qe.language.made_columns import with_made_columns
from qe.models import Model
from qe.models.pipeline import Candidate, fit
from qe.models.robustness import Answer, judge_of, robustness_of
from qe.models.robustness_table import destruction_note, robustness_table

SCALE = LabelScale("score", None, None, True)
TARGETS = tuple(f"la casa número {i} " + "muy grande " * (i % 7) + "está allí ." for i in range(1, 61))
SEGMENTS = Segments(
    tuple(f"house number {i} is there ." for i in range(1, 61)), TARGETS, Tokenizer("en"), Tokenizer("es")
)


def by_length(segments: Segments) -> tuple[FloatArray, Any]:
    """Longer is better; what has more than 100 characters is marked."""
    lengths = np.array([float(len(text)) for text in segments.target])
    return lengths, lengths > 100


def by_nothing(segments: Segments) -> tuple[FloatArray, Any]:
    return np.full(len(segments), 3.0), np.zeros(len(segments), bool)


def test_a_judge_of_lengths_likes_what_is_longer() -> None:
    answers = {a.name: a for a in robustness_of(by_length, SEGMENTS, SCALE, rows=60).answers}
    thrice, half = answers["three_times"], answers["half_dropped"]
    assert thrice.below == 0 and thrice.drop < 0 and thrice.best > 0.9
    assert half.below == 1 and half.drop > 0 and half.best == 0
    kept = [len(text) for text in TARGETS if len(text) > np.quantile([len(t) for t in TARGETS], 0.1)]
    assert thrice.n == half.n == len(kept)
    tripled = np.mean([3 * length + 2 - length for length in kept])  # two blanks
    assert -thrice.drop == pytest.approx(tripled)
    assert thrice.unseen == pytest.approx(np.mean([3 * n + 2 <= 100 for n in kept]), abs=0.2)
    assert answers["upper_case"].moved == 0


@pytest.mark.slow
def test_what_checks_find_beside_what_they_found_before_is_counted() -> None:
    def checked(source: str, target: str) -> str:
        return "; ".join(["always: x"] + ["numbers: " + n for n in target.split() if n.isdigit()])

    found = robustness_of(by_length, SEGMENTS, SCALE, rows=60, checked=checked)
    shares = {answer.name: answer.flagged for answer in found.answers}
    assert shares["number_changed"] == 1 and shares["half_dropped"] == shares["upper_case"] == 0
    changed = next(
        line for line in robustness_table(found).text(200).splitlines() if "number changed" in line
    )
    assert changed.endswith(" 100.0 %")
    assert {a.flagged for a in robustness_of(by_length, SEGMENTS, SCALE).answers} == {None}


def test_errors_of_lower_is_better_are_turned_round() -> None:
    def errors(segments: Segments) -> tuple[FloatArray, Any]:
        lengths, marked = by_length(segments)
        return -lengths, marked

    up = robustness_of(by_length, SEGMENTS, SCALE, rows=30)
    down = robustness_of(errors, SEGMENTS, LabelScale("ter", None, None, False), rows=30)
    assert up.to_json() == down.to_json()


def test_a_judge_that_sees_nothing_notices_nothing() -> None:
    found = robustness_of(by_nothing, SEGMENTS, SCALE)
    assert found.answers == ()  # no row is above the lowest tenth
    assert found.to_json()["destroyed_below"] == {"mean": None, "least": None, "kind": None}
    json.dumps(found.to_json(), allow_nan=False)
    assert destruction_note(found).startswith("nothing was changed: of ")


def test_one_row_alone_has_none_to_fall_below() -> None:
    found = robustness_of(by_length, SEGMENTS.take([0]), SCALE)
    assert "of 1 row none scores above" in destruction_note(found)
    assert "give more rows" in robustness_table(found).text(120)


def test_the_same_seed_gives_the_same_answers() -> None:
    one, same, other = (robustness_of(by_length, SEGMENTS, SCALE, rows=20, seed=seed) for seed in (1, 1, 2))
    assert one == same != other


def reading_annotations(**columns: str) -> Model:
    """A model of lengths and parts of speech."""
    features = FeatureSet.make([{"kind": "surface"}, {"kind": "parts_of_speech"}], None)
    table = pd.DataFrame(
        np.random.default_rng(0).random((60, len(features.columns))), columns=features.columns
    )
    candidate = Candidate("ridge", {}, "none", {})
    pipeline = fit(candidate.pipeline(0), table, table.sum(axis=1).to_numpy())
    return Model("m", candidate, pipeline, features, SCALE, (Tokenizer("en"), Tokenizer("es")),
                 made_columns=columns)  # fmt: skip


@pytest.mark.skipif(shutil.which("apertium-tagger") is None, reason="apertium-tagger is not installed")
def test_what_the_model_makes_of_a_translation_is_made_of_the_spoilt_one() -> None:
    made = {"annotation_source": "apertium", "annotation_target": "apertium"}
    segments = with_made_columns(SEGMENTS, made)
    found = robustness_of(
        judge_of(reading_annotations(**made)), segments, SCALE, rows=40, kinds=["three_times"]
    )
    assert [answer.moved > 0 for answer in found.answers] == [True]


@pytest.mark.capability
def test_a_run_reports_what_its_model_makes_of_spoilt_translations(demo_run: Any, demo_client: Any) -> None:
    section = json.loads((demo_run.output / "report.json").read_text("utf-8"))["robustness"]
    assert section["of"] == "test" and section["rows"] == 80
    assert {each["name"] for each in section["perturbations"]} <= set(PERTURBATIONS)
    assert set(names("destroying")) - {each["name"] for each in section["perturbations"]} == set()
    assert section["destroyed_below"]["mean"] >= 0.95 and section["destroyed_below"]["least"] >= 0.85
    logged = demo_client.get_run(demo_run.run_id).data.metrics
    assert logged["robustness/destroyed below original"] == section["destroyed_below"]["mean"]
    assert (demo_run.output / "plots" / "robustness.png").stat().st_size > 10_000


def test_a_run_without(demo_run: Any, tmp_path: Path) -> None:
    from qe.config import experiment
    from qe.getting_started.demo.run import EXPERIMENT
    from qe.training.check import check
    from qe.training.train import train

    overrides = ["evaluation.robustness=false", "learner={kind: mean}", "split.folds=2", "features=[surface]"]
    loaded = experiment.load(EXPERIMENT, data_root=demo_run.output, overrides=overrides)
    made = train(check(loaded), tmp_path / "out", cache=demo_run.output / "cache")
    assert made.report["robustness"] is None and not (made.output / "plots" / "robustness.png").exists()


def test_slow_models_are_asked_for_few_rows_and_no_model_for_more_than_a_hundred() -> None:
    """By the time of changed translations: those of the originals may be known."""
    clock = 0.0
    many = Segments(SEGMENTS.source * 3, SEGMENTS.target * 3, Tokenizer("en"), Tokenizer("es"))

    def slow(segments: Segments) -> tuple[FloatArray, Any]:
        nonlocal clock
        clock += len(segments) if len(segments) < len(many) else 0
        return by_length(segments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.process_time", lambda: clock)
        assert robustness_of(slow, many, SCALE).rows == 30
        patch.setattr("time.process_time", lambda: 0.0)
        assert robustness_of(by_length, many, SCALE).rows == 100


def test_shares_of_rows_have_wilson_intervals() -> None:
    """Against SciPy: `binomtest(8, 10).proportion_ci(method="wilson")`."""
    answer = Answer("case", "destroying", 10, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert answer.below_interval == pytest.approx((0.490162, 0.943318), abs=1e-6)
    found = robustness_of(by_length, SEGMENTS, SCALE, rows=30)
    assert all(entry["below_interval"][0] <= entry["below"] for entry in found.to_json()["perturbations"])
    assert "[" in destruction_note(found)
