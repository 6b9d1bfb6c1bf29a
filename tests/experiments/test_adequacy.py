"""The ablation of Mehdad et al. 2012: every file loads, and each adds families to the one before."""

import fnmatch
from itertools import pairwise
from pathlib import Path

import pytest

from features.core.feature_set import parts_needed
from qe.catalogue.features import columns_of
from qe.config.experiment import Experiment, load

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "adequacy"
ROWS = ("f", "f-ssyn-syn", "f-ssyn-syn-dr", "f-ssyn-syn-dr-pt")


def columns(experiment: Experiment) -> set[str]:
    kept: set[str] = set()
    for config in experiment.features:
        names = [feature.name for feature in columns_of([{k: v for k, v in config.items() if k != "only"}])]
        for pattern in config.get("only", ["*"]):
            matched = fnmatch.filter(names, pattern)
            assert matched, (config["kind"], pattern)
            kept |= set(matched)
    return kept


@pytest.mark.parametrize("name", [*ROWS, "ssyn-syn"])
def test_it_loads_and_says_what_is_absent(name: str) -> None:
    experiment = load(FOLDER / f"{name}.yaml")
    assert experiment.name == f"adequacy-{name}" and experiment.absent and parts_needed(experiment.features)
    assert experiment.split.folds == 5 and experiment.split.by == "random"
    assert set(experiment.made_columns()) == (
        set() if name == "f" else {"annotation_source", "annotation_target"}
    )


def test_every_row_adds_to_the_one_before() -> None:
    kept = [columns(load(FOLDER / f"{name}.yaml")) for name in ROWS]
    assert all(fewer < more for fewer, more in pairwise(kept))
    surface, _, matched, phrases = kept
    assert columns(load(FOLDER / "ssyn-syn.yaml")) == kept[1] - surface
    assert {name.split("_")[2] for name in matched - kept[1]} == {"match"}
    assert len(phrases - matched) == 10  # 1- to 5-grams, both ways


def test_no_file_is_left_out() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted([*ROWS, "ssyn-syn"])
