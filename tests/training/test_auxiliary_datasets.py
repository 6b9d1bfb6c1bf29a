"""Experiments with several datasets: what is refused, what is said, and a run from end to end."""

import json
from pathlib import Path

import numpy as np
import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.models.model import Model
from qe.models.training_rows import Learned
from qe.training.ablation import ALONE, WITH, learning_curve_plot, learning_curves
from qe.training.check import check
from qe.training.preparation import prepare
from qe.training.train import train
from tests.training.several import made, section, write, write_three

FIRST = section("first.tsv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_three(tmp_path)
    return tmp_path


def test_rows_are_drawn_at_random_in_their_order(folder: Path) -> None:
    limited = prepare(check(made(folder, {**FIRST, "rows": 20})), folder / "cache").training.segments
    whole = prepare(check(made(folder, FIRST)), folder / "cache").training.segments
    expected = np.sort(np.random.default_rng(0).permutation(60)[:20])
    assert limited.id == whole.take(expected).id


@pytest.mark.slow
def test_a_run_from_end_to_end(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    write(folder / "dev.tsv", 20, 3)
    first = {**section("."), "splits": {"train": "first.tsv", "dev": "dev.tsv"}}
    other = section("other.tsv", higher=False, together=True, weight=0.5)
    third = section("spanish.tsv", target="es", align=True)
    experiment = made(folder, first, other, third, features=["surface", "bag_of_words"])
    outcome = train(check(experiment), tmp_path / "run", cache=folder / "cache")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert [each["name"] for each in report["recipe"]["other_datasets"]] == ["other.tsv", "spanish.tsv"]
    assert report["data"]["splits"] == {"train": 60, "dev": 20}
    assert any("dataset.1 (other.tsv): 30 segments help to learn" in note for note in report["data"]["notes"])
    assert report["experiment"]["dataset"][1]["weight"] == 0.5
    assert outcome.figures("test").loc["several", "pearson"] > 0.8
    loaded, learned = Model.load(tmp_path / "run" / "model"), Learned.load(tmp_path / "run" / "model")
    for name in ("other.tsv", "spanish.tsv"):
        rows = [line.split("\t") for line in (folder / name).read_text().splitlines()[1:21]]
        assert learned.knows((row[0], row[1]) for row in rows).all()
    segments = Segments(("the red house",), ("the red house .",), *loaded.tokenizers)
    assert np.isfinite(loaded.predict(segments)).all()


@pytest.mark.slow
def test_learning_curves_with_the_others_and_without(folder: Path) -> None:
    experiment = made(folder, FIRST, section("spanish.tsv", target="es"))
    curves = learning_curves(experiment, [10, 40], cache=folder / "cache", draws=2, samples=0)
    assert list(curves) == [WITH, ALONE]
    few, alone = (curve.sizes[0].mean("pearson") for curve in curves.values())
    assert few > alone
    assert [len(size.draws) for size in curves[WITH].sizes] == [2, 1]  # all rows are drawn once
    assert len(learning_curve_plot(curves, "pearson").axes[0].get_legend_handles_labels()[1]) == 2
    first = experiment.model_copy(update={"datasets": experiment.datasets[:1]})
    single = learning_curves(first, [10, 40], cache=folder / "cache", draws=2, samples=0)
    assert single[ALONE].to_json() == curves[ALONE].to_json()


def test_mistakes_are_told_with_their_place(folder: Path) -> None:
    wrong = {**section("gone.tsv"), "format": "tabel", "weight": 2, "resources": {"source": "nowhere"}}
    learner, trees = {"kind": "k_neighbours", "params": {}}, [{"kind": "dependencies", "side": "source"}]
    read = {"kind": "precomputed", "files": {"train": "x.tsv"}, "names": "baseline17"}
    with pytest.raises(InputError) as caught:
        check(made(folder, FIRST, wrong, learner=learner, trees=trees, features=["surface", read]))
    places = [line.strip().partition(":")[0] for line in str(caught.value).splitlines()[1:]]
    first = ("dataset.1", "dataset.1.path", "dataset.1.weight", "dataset.1.resources.source")
    assert {*places} >= {*first, "trees", "features"}
