"""Experiments without human labels: nothing in them learns from labels but the scale of the predictions."""

from pathlib import Path

import pytest

from features.core.extractor import FittedExtractor
from features.core.feature_set import configured, expand, parts_needed
from qe.config import experiment

FILES = sorted((Path(__file__).resolve().parents[2] / "experiments" / "no-labels").glob("*.yaml"))
ENCODER = "mlqe-ro-en-encoder"


def test_there_is_one_for_each_data_set() -> None:
    pairs = {"mlqe-en-de", "mlqe-en-de-decoder", "mlqe-ro-en", "mlqe-ro-en-decoder", "wmt12", "wmt18-en-de"}
    assert {file.stem for file in FILES} == pairs | {ENCODER}


@pytest.mark.parametrize("file", [f for f in FILES if f.stem != ENCODER], ids=lambda file: file.stem)
def test_no_family_learns_from_labels(file: Path, tmp_path: Path) -> None:
    loaded = experiment.load(file, data_root=tmp_path)
    assert loaded.name == f"no-labels-{file.stem}"
    assert [section.kind for section in loaded.learner] == ["unsupervised_mean"]
    families = [configured(config).kind for config in expand(loaded.features)]
    assert families and not any(issubclass(family, FittedExtractor) for family in families)
    assert "synthetic_word_quality" in parts_needed(loaded.features)
    assert loaded.resources is not None and "post_edit" not in loaded.resources.texts


def test_the_encoder_learns_only_where_its_languages_lie(tmp_path: Path) -> None:
    (file,) = (file for file in FILES if file.stem == ENCODER)
    loaded = experiment.load(file, data_root=tmp_path)
    assert loaded.name == f"no-labels-{ENCODER}" and loaded.resources is None
    assert [section.kind for section in loaded.learner] == ["unsupervised_mean"]
    families = {config["kind"]: configured(config) for config in expand(loaded.features)}
    assert [k for k, family in families.items() if issubclass(family.kind, FittedExtractor)] == ["encoder"]
    settings = families["encoder"].settings
    assert settings["prediction"] is False and not settings.get("pls") and not settings["pca"]
