"""The MLQE-PE experiments: they load, for any pair and for the blind split, and their families exist."""

from pathlib import Path

import pytest

from features.core.feature_set import parts_needed
from qe.config import experiment
from qe.data.format import make_format
from qe.learning.learner import LEARNERS

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "mlqe"
FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_loads_as_it_is(file: Path, tmp_path: Path) -> None:
    loaded = experiment.load(file, data_root=tmp_path)
    assert loaded.name == file.stem and loaded.split.train == ("train",) and loaded.split.test == "dev"
    # Families of words need resources; si-en and ru-en have no word tags.
    assert bool(parts_needed(loaded.features)) == (file.stem[:2] in ("en", "ro"))
    form = make_format(loaded.dataset.format, loaded.dataset.options())
    pair, _, label = file.stem.removesuffix("-encoder").rpartition("-")
    assert (form.pair, form.label) == (pair, label)  # type: ignore[attr-defined]
    for member in loaded.learner[0].params["members"]:
        settings = {name: value for name, value in member.items() if name != "kind"}
        known = LEARNERS.get(member["kind"])().estimator(seed=0).get_params()
        assert set(settings) <= set(known)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_loads_for_another_pair_and_the_blind_split(file: Path, tmp_path: Path) -> None:
    changes = ["dataset.pair=ne-en", "name=ne-en-da", "split.train=[train,dev]", "split.test=test20"]
    loaded = experiment.load(file, data_root=tmp_path, overrides=changes)
    assert loaded.split.train == ("train", "dev") and loaded.split.test == "test20"
    assert loaded.resources is not None and loaded.resources.optional
    assert str(loaded.resources.source).endswith("parallel/ne-en/train.ne.gz")
    assert str(loaded.resources.target).endswith("parallel/ne-en/train.en.gz")
