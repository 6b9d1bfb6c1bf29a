"""A student of the demo's model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.core.errors import InputError
from qe.__main__ import main
from qe.distillation.distill import STUDENT, load_student, taught
from qe.models.model import Model
from qe.scoring.pool import read_pool


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
