"""A student of the demo's model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.core.errors import InputError
from qe.__main__ import main
from qe.config import experiment
from qe.demo.generation import generate
from qe.demo.run import EXPERIMENT
from qe.distillation.distill import STUDENT, learns_words, load_student, taught
from qe.models.model import Model
from qe.scoring.pool import read_pool
from qe.scoring.word_level import WordLevel
from qe.training.train import train


@pytest.fixture(scope="module")
def of_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a teacher that judges words, in the folder that has its data."""
    folder = tmp_path_factory.mktemp("teacher")
    generate(folder / "data", pairs=600, train=120, test=20, new=150)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        overrides = [
            "features=[surface, {kind: word_quality, rounds: 20}]", "split.folds=2", "search.trials=1",
            "tracking.register=false",
        ]  # fmt: skip
        loaded = experiment.load(EXPERIMENT, data_root=folder, overrides=overrides)
        train(loaded, folder / "run", cache=folder / "cache")
    return folder


def pool_of(folder: Path) -> Path:
    return folder / "data" / "new.tsv"


def test_labels_are_the_teachers_scores(demo_run: Any) -> None:
    teacher, path = Model.load(demo_run.output / "model"), pool_of(demo_run.output)
    dataset = taught(teacher, read_pool(path), path)
    rows = pd.read_csv(path, sep="\t", keep_default_na=False)
    expected = teacher.predict(teacher.segments({"source": list(rows.source), "target": list(rows.target)}))
    split = dataset.split("train")
    assert np.array_equal(split.scores, expected)
    assert split.segments.source == tuple(rows.source) and dataset.scale == teacher.scale
    assert "demo" in dataset.notes[0] and list(dataset.provenance) == [str(path)]


def test_tags_are_drawn_as_the_teacher_says(of_words: Path) -> None:
    """Gap, word, gap, ...; as many BAD as the probabilities add up to, most of them where these are high."""
    teacher, path = Model.load(of_words / "run" / "model"), pool_of(of_words)
    split = taught(teacher, read_pool(path), path, words=True).split("train")
    assert split.word_tags is not None
    places = WordLevel.of(teacher).places(split.segments)
    tags = [line.split() for line in split.word_tags]
    for kind, first in (("word", 1), ("gap", 0)):
        bad = np.concatenate([np.array(line[first::2]) == "BAD" for line in tags])
        p = places[kind].bad
        assert np.array_equal([len(line[first::2]) for line in tags], np.diff(places[kind].offsets))
        assert abs(bad.sum() - p.sum()) < 4 * np.sqrt((p * (1 - p)).sum())
        assert p[bad].mean() > p.mean() > p[~bad].mean()
    again = taught(teacher, read_pool(path), path, words=True).split("train")
    assert again.word_tags == split.word_tags
    assert taught(teacher, read_pool(path), path).split("train").word_tags is None


def test_a_teacher_of_scores_alone_cannot_teach_words(demo_run: Any) -> None:
    teacher, path = Model.load(demo_run.output / "model"), pool_of(demo_run.output)
    with pytest.raises(InputError, match="has no word-level part") as told:
        taught(teacher, read_pool(path), path, words=True)
    assert told.value.where == "--student"


def test_a_teacher_that_says_nothing(demo_run: Any, tmp_path: Path) -> None:
    path = tmp_path / "one.tsv"
    path.write_text("source\ttarget\na b\tc d\n", "utf-8")
    with pytest.raises(InputError, match="every segment the same score"):
        taught(Model.load(demo_run.output / "model"), read_pool(path), path)


def test_the_dataset_and_splits_of_a_students_file_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "student.yaml"
    path.write_text(
        "name: small\ndataset: {format: wmt12, path: nowhere}\nfeatures: [surface]\n"
        "split: {train: a, test: b, folds: 3}\nlearner: {kind: ridge}\n"
    )
    experiment = load_student(path, overrides=["learner.kind=lasso"])
    assert experiment.dataset.format == "in_memory" and experiment.split.folds == 3
    assert experiment.split.test is None and tuple(experiment.split.train) == ("train",)
    assert experiment.learner[0].kind == "lasso"


def test_the_student_that_is_shipped_needs_no_resources() -> None:
    from features.core.feature_set import parts_needed

    assert not parts_needed(load_student(STUDENT).features)


@pytest.mark.slow
def test_a_student_follows_its_teacher_and_scores_as_any_model(
    demo_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    student = tmp_path / "student"
    arguments = [
        "distill", "--model", demo_run.output / "model", "--input", pool_of(demo_run.output),
        "--output", student, "--set", "tracking.register=false", "--cache-dir", tmp_path / "cache", "--json",
    ]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    assert not ended.value.code
    capsys.readouterr()
    report = json.loads((student / "report.json").read_text())
    assert report["cross_validation"]["systems"]["student"]["pearson"] > 0.8
    assert "scores of the model" in report["data"]["notes"][0]
    small, rows = Model.load(student / "model"), {"source": ["a b c"], "target": ["d e"]}
    assert small.bundle is None
    assert np.isfinite(small.predict(small.segments(rows))).all()


@pytest.mark.slow
def test_a_student_can_learn_words(of_words: Path, tmp_path: Path) -> None:
    """Its P(BAD) of words go with the teacher's."""
    features = "[surface, {kind: word_quality, labels: word_tags, rounds: 20}]"
    model = of_words / "run" / "model"
    arguments = [
        "distill", "--model", model, "--input", pool_of(of_words), "--output", tmp_path / "student",
        "--set", f"resources.bundle={model / 'resources'}", "--set", f"features={features}",
        "--set", "split.folds=2", "--set", "tracking.register=false", "--cache-dir", tmp_path / "cache",
        "--quiet",
    ]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    assert not ended.value.code
    assert learns_words(load_student(STUDENT, overrides=[f"features={features}"]))
    assert not learns_words(load_student(STUDENT))
    rows = pd.read_csv(pool_of(of_words), sep="\t", keep_default_na=False)
    columns = {name: list(rows[name]) for name in ("source", "target")}
    said = []
    for path in (model, tmp_path / "student" / "model"):
        loaded = Model.load(path)
        said.append(WordLevel.of(loaded).places(loaded.segments(columns))["word"].bad)
    assert np.corrcoef(*said)[0, 1] > 0.5
