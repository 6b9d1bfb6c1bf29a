"""Experiments without human labels: nothing in them learns from labels but the scale of the predictions."""

from pathlib import Path

import pytest

from features.core.extractor import FittedExtractor
from features.core.feature_set import configured, expand, parts_needed
from qe.config import experiment

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "no-labels"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if not path.stem.endswith("-encoder"))


def test_there_is_one_for_each_data_set() -> None:
    pairs = {"mlqe-en-de", "mlqe-en-de-decoder", "mlqe-ro-en", "mlqe-ro-en-decoder", "wmt12", "wmt18-en-de"}
    assert {file.stem for file in FILES} == pairs


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_family_learns_from_labels(file: Path, tmp_path: Path) -> None:
    loaded = experiment.load(file, data_root=tmp_path)
    assert loaded.name == f"no-labels-{file.stem}"
    assert [section.kind for section in loaded.learner] == ["unsupervised_mean"]
    families = [configured(config).kind for config in expand(loaded.features)]
    assert families and not any(issubclass(family, FittedExtractor) for family in families)
    assert "synthetic_word_quality" in parts_needed(loaded.features)
    assert loaded.resources is not None and "post_edit" not in loaded.resources.texts
