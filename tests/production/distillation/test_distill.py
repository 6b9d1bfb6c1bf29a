"""A student of the demo's model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.basics.errors import InputError
from qe.config import experiment
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.models.model import Model
from qe.production.distillation.distill import STUDENTS, learns_words, load_student, student_of, taught
from qe.scoring.input import read_pool
from qe.scoring.word_level import WordLevel
from qe.training.check import check
from qe.training.train import train
from tests.factories import exit_code, refuses


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
        train(check(loaded), folder / "run", cache=folder / "cache")
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


@pytest.mark.slow
def test_words_are_taught_by_probabilities_and_tags_drawn_of_them(of_words: Path) -> None:
    """Gap, word, gap, ...; as many BAD as the probabilities add up to, most of them where these are high."""
    teacher, path = Model.load(of_words / "run" / "model"), pool_of(of_words)
    split = taught(teacher, read_pool(path), path, words=True).split("train")
    assert split.word_tags is not None and split.word_probabilities is not None
    places = WordLevel.from_model(teacher).places(split.segments)
    tags = [line.split() for line in split.word_tags]
    told = [np.array(line.split(), np.float64) for line in split.word_probabilities]
    for kind, first in (("word", 1), ("gap", 0)):
        bad = np.concatenate([np.array(line[first::2]) == "BAD" for line in tags])
        p = places[kind].bad
        np.testing.assert_allclose(np.concatenate([line[first::2] for line in told]), p, atol=1e-6)
        assert np.array_equal([len(line[first::2]) for line in tags], np.diff(places[kind].offsets))
        assert abs(bad.sum() - p.sum()) < 4 * np.sqrt((p * (1 - p)).sum())
        assert p[bad].mean() > p.mean() > p[~bad].mean()
    again = taught(teacher, read_pool(path), path, words=True).split("train")
    assert again.word_tags == split.word_tags
    plain = taught(teacher, read_pool(path), path).split("train")
    assert plain.word_tags is None and plain.word_probabilities is None


def test_a_teacher_of_scores_alone_cannot_teach_words(demo_run: Any) -> None:
    teacher, path = Model.load(demo_run.output / "model"), pool_of(demo_run.output)
    with pytest.raises(InputError, match="has no word-level part") as told:
        taught(teacher, read_pool(path), path, words=True)
    assert told.value.location == "--student"


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


def test_a_teacher_of_words_with_resources_has_a_student_of_words(of_words: Path, demo_run: Any) -> None:
    """With its resources; others have `surface`, and a name or a file says otherwise."""
    teacher, scores_alone = Model.load(of_words / "run" / "model"), Model.load(demo_run.output / "model")
    student = student_of(teacher)
    assert learns_words(student) and student.resources is not None
    families = [str(feature["kind"]) for feature in student.features]
    assert families[:4] == ["word_quality", "word_network", "bag_of_words", "surface"]
    assert "ibm1" in families and "backoff" not in families  # no model of reversed sources was built for it
    assert student.resources.bundle == (of_words / "run" / "model" / "resources").resolve()
    for other in (student_of(scores_alone), student_of(teacher, "surface")):
        assert not learns_words(other) and other.resources is None
    assert learns_words(student_of(scores_alone, "words"))
    own = student_of(teacher, "words", overrides=["resources.source=a.en", "resources.target=a.es"])
    assert own.resources is not None and own.resources.bundle is None
    file = student_of(teacher, str(STUDENTS["surface"]), overrides=["features=[lm]"])
    assert file.resources is not None and file.resources.bundle == student.resources.bundle


@pytest.mark.slow
@pytest.mark.capability
def test_a_student_follows_its_teacher_and_scores_as_any_model(
    demo_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    student = tmp_path / "student"
    arguments = [
        "distill", "--model", demo_run.output / "model", "--input", pool_of(demo_run.output),
        "--output", student, "--set", "tracking.register=false", "--set", "guard=false",
        "--set", "evaluation.robustness=false", "--cache-dir", tmp_path / "cache", "--json",
    ]  # fmt: skip
    assert exit_code(*map(str, arguments)) == 0
    capsys.readouterr()
    report = json.loads((student / "report.json").read_text())
    assert report["cross_validation"]["systems"]["student"]["pearson"] > 0.8
    assert "scores of the model" in report["data"]["notes"][0]
    small, rows = Model.load(student / "model"), {"source": ["a b c"], "target": ["d e"]}
    assert small.bundle is None and small.feature_set.names[0].startswith("tokens_")
    assert np.isfinite(small.predict(small.segments(rows))).all()


@pytest.mark.slow
def test_a_student_of_words_follows_its_teacher(of_words: Path, tmp_path: Path) -> None:
    """Made without a word about what it should be; its P(BAD) of words go with the teacher's."""
    model = of_words / "run" / "model"
    arguments = [
        "distill", "--model", model, "--input", pool_of(of_words), "--output", tmp_path / "student",
        "--set", "features.1.epochs=5", "--set", "tracking.register=false",
        "--cache-dir", tmp_path / "cache", "--quiet",
    ]  # fmt: skip
    assert exit_code(*map(str, arguments)) == 0
    rows = pd.read_csv(pool_of(of_words), sep="\t", keep_default_na=False)
    columns = {name: list(rows[name]) for name in ("source", "target")}
    said = []
    for path in (model, tmp_path / "student" / "model"):
        loaded = Model.load(path)
        said.append(WordLevel.from_model(loaded).places(loaded.segments(columns))["word"].bad)
    assert np.corrcoef(*said)[0, 1] > 0.5


@pytest.mark.parametrize(
    ("rows", "message"),
    [(["a\tb", "c\td"], "has 2 segments .* at least 30 are needed"), (["a b\tc d"] * 30, "the same score")],
)
def test_what_teaches_nothing(rows: list[str], message: str, demo_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "pool.tsv"
    path.write_text("\n".join(["source\ttarget", *rows, ""]), "utf-8")
    refuses(message, taught, Model.load(demo_model), read_pool(path), path)
