"""The ablation of Mehdad et al. 2012: every file loads, and each adds families to the one before."""

import fnmatch
from itertools import pairwise
from pathlib import Path

import pytest

from features.core.feature_set import parts_needed
from qe.catalogue.features import columns_of
from qe.config.experiment import Experiment, load
from qe.learners._base import LEARNERS

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "adequacy"
ROWS = ("f", "f-ssyn-syn", "f-ssyn-syn-dr", "f-ssyn-syn-dr-pt", "f-ssyn-syn-dr-pt-spt")
MLQE_ROWS = ("f", "f-pt", "f-pt-spt")
PAIRS = ("en-de", "ro-en")


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
    draws(experiment)
    assert set(experiment.made_columns()) == (
        set() if name == "f" else {"annotation_source", "annotation_target"}
    )


def draws(experiment: Experiment) -> None:
    """80 and 20 %, drawn at random, five times and more."""
    split = experiment.split
    assert (split.folds, split.by, split.repeats) == (5, "random", 5)


@pytest.mark.parametrize("pair", PAIRS)
def test_direct_assessments_have_the_families_that_need_no_parser(pair: str) -> None:
    rows = [load(FOLDER / f"mlqe-{pair}-{name}.yaml") for name in MLQE_ROWS]
    for name, experiment in zip(MLQE_ROWS, rows, strict=True):
        assert experiment.name == f"adequacy-mlqe-{pair}-{name}" and not experiment.made_columns()
        assert any("SSyn, Syn and DR" in text for text in experiment.absent)
        draws(experiment)
        assert str(experiment.resources and experiment.resources.source).endswith(f"train.{pair[:2]}.gz")
    kept, other = (
        [columns(experiment) for experiment in rows],
        [columns(load(FOLDER / f"{n}.yaml")) for n in ROWS],
    )
    assert kept[0] == other[0]
    assert kept[1] - kept[0] == other[3] - other[2] and kept[2] - kept[1] == other[4] - other[3]


@pytest.mark.parametrize("name", [*ROWS, "ssyn-syn"])
def test_classes_have_the_features_of_the_row_and_ten_folds(name: str) -> None:
    classes, row = load(FOLDER / f"classes-{name}.yaml"), load(FOLDER / f"{name}.yaml")
    assert classes.name == f"adequacy-classes-{name}" and classes.features == row.features
    assert (classes.split.folds, classes.split.repeats) == (10, 1)
    params = classes.learner[0].params
    learner = LEARNERS.get(classes.learner[0].kind)().estimator(seed=0, **params)
    assert set(params) <= set(learner.get_params()) and params["output"] == "most_likely"
    assert classes.evaluation.metric == "accuracy"


def test_every_row_adds_to_the_one_before() -> None:
    kept = [columns(load(FOLDER / f"{name}.yaml")) for name in ROWS]
    assert all(fewer < more for fewer, more in pairwise(kept))
    surface, _, matched, phrases, semantic = kept
    assert columns(load(FOLDER / "ssyn-syn.yaml")) == kept[1] - surface
    assert {name.split("_")[2] for name in matched - kept[1]} == {"match"}
    assert len(phrases - matched) == 3 * 10  # 1- to 5-grams, both ways, of tokens, lemmas and stems
    assert len(semantic - phrases) == 10


def test_no_file_is_left_out() -> None:
    direct = [f"mlqe-{pair}-{name}" for pair in PAIRS for name in MLQE_ROWS]
    regressions = [*ROWS, "ssyn-syn"]
    classes = [f"classes-{name}" for name in regressions]
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted([*regressions, *classes, *direct])
