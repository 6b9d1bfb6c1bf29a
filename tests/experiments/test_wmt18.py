"""The WMT 2018 experiment: it loads, its families and learners exist, and it reads what is distributed."""

from pathlib import Path

from features.core.feature_set import EXTRACTORS, parts_needed
from features.word_level.places import PLACES, WordLevelExtractor
from qe.config import experiment
from qe.learning.learner import LEARNERS
from qe.training.reading import read_dataset
from tests.factories import Find

FILE = Path(__file__).resolve().parents[2] / "experiments" / "wmt18" / "en-de-smt.yaml"
WORDS = FILE.with_name("en-de-smt-words.yaml")


def test_it_loads_and_everything_in_it_exists(tmp_path: Path) -> None:
    loaded = experiment.load(FILE, data_root=tmp_path)
    assert loaded.name == FILE.stem and loaded.split.train == ("train",) and loaded.split.test == "dev"
    assert "aligner" in parts_needed(loaded.features)
    assert loaded.resources is not None and loaded.resources.texts == ["post_edit", "reference"]
    for member in loaded.learner[0].params["members"]:
        settings = {name: value for name, value in member.items() if name != "kind"}
        assert set(settings) <= set(LEARNERS.get(member["kind"])().estimator(seed=0).get_params())


def test_words_gaps_and_source_words_are_learned_from_tags(tmp_path: Path) -> None:
    loaded = experiment.load(WORDS, data_root=tmp_path)
    assert loaded.name == WORDS.stem and "aligner" in parts_needed(loaded.features)
    kinds = [EXTRACTORS.get(config["kind"]) for config in loaded.features]
    assert {kind for one in kinds if issubclass(one, WordLevelExtractor) for kind in one.judges} == set(
        PLACES
    )
    assert [config["labels"] for config in loaded.features] == ["word_tags", "source_tags"]
    assert loaded.resources is not None and loaded.resources.texts == ["post_edit", "reference"]


def test_it_reads_what_is_distributed(shared_data: Find) -> None:
    root = shared_data("wmt18-qe/en-de.smt").parents[1]
    dataset = read_dataset(experiment.load(FILE, data_root=root))
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 26299, "dev": 1000}
    labels = dataset.splits["train"].labels()
    assert {"scores", "word_tags", "source_tags", "post_edit", "reference"} <= set(labels)
