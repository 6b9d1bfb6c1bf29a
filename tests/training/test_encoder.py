"""A model with an encoder: trained, moved away from it, and scoring."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from features.basics.errors import InputError
from qe.config.experiment import load
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.models.model import Model
from qe.training.check import check
from qe.training.train import train
from tests.features.encoding.made import Tiny, onnx_folder

for package in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(package)


@pytest.mark.slow
def test_a_model_with_an_encoder_scores_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    generate(tmp_path / "data", pairs=100, train=60, test=10, new=1)
    onnx_folder(tmp_path / "data" / "tiny", Tiny.of_seed())
    overrides = [
        "features=[{kind: encoder, model: data/tiny}]",
        "learner={kind: ridge}",
        "search.trials=1",
        "selection={kind: none}",
        "tracking={}",
    ]
    experiment = load(EXPERIMENT, data_root=tmp_path, overrides=overrides)
    outcome = train(check(experiment), tmp_path / "run", cache=tmp_path / "cache")
    (read,) = outcome.report["recipe"]["feature_files"]
    assert read["kind"] == "encoder" and all(len(value) == 64 for value in read["files"].values())
    rows = {"source": ["the house is red"] * 2, "target": ["la casa es roja", "casa"]}
    before = outcome.model.predict(outcome.model.segments(rows))
    shutil.rmtree(tmp_path / "data")
    shutil.move(tmp_path / "run" / "model", tmp_path / "elsewhere")
    model = Model.load(tmp_path / "elsewhere")
    assert model.about["recipe"]["feature_files"] == [read]
    assert np.array_equal(model.predict(model.segments(rows)), before)
    (tmp_path / "elsewhere" / "fitted" / "0" / "encoder" / "model.onnx").write_bytes(b"other")
    with pytest.raises(InputError, match="model.onnx has changed"):
        Model.load(tmp_path / "elsewhere")
