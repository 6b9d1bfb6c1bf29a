"""The ablation of Mehdad et al. 2012: every file loads, and each adds families to the one before."""

import fnmatch
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from features.core.feature_set import parts_needed
from qe.config.experiment import Experiment, load
from qe.getting_started.catalogue.features import columns_of
from qe.learning.learner import LEARNERS
from qe.statistics.metric import METRICS

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
    assert set(experiment.annotations) == (set() if name == "f" else {"source", "target"})


def draws(experiment: Experiment) -> None:
    """80 and 20 %, drawn at random, five times and more."""
    split = experiment.split
    assert (split.folds, split.fold_by, split.repeats) == (5, "random", 5)


@pytest.mark.parametrize("pair", PAIRS)
def test_direct_assessments_have_the_families_that_need_no_parser(pair: str) -> None:
    rows = [load(FOLDER / f"mlqe-{pair}-{name}.yaml") for name in MLQE_ROWS]
    for name, experiment in zip(MLQE_ROWS, rows, strict=True):
        assert experiment.name == f"adequacy-mlqe-{pair}-{name}" and not experiment.annotations
        assert any("SSyn, Syn and DR" in text for text in experiment.absent)
        draws(experiment)
        assert str(experiment.resources and experiment.resources.source).endswith(f"train.{pair[:2]}.gz")
    kept, other = (
        [columns(experiment) for experiment in rows],
        [columns(load(FOLDER / f"{n}.yaml")) for n in ROWS],
    )
    assert kept[0] == other[0]
    assert kept[1] - kept[0] == other[3] - other[2]
    # No entities of these languages are at hand: names are told by their form.
    types = {name.replace("name_phrases", "entity_phrases") for name in kept[2] - kept[1]}
    assert types == other[4] - other[3] != kept[2] - kept[1]
    assert any("told by their form" in text for text in rows[2].absent)


def test_surface_form_counts_on_both_sides_and_divides_both_ways() -> None:
    """Words, punctuation marks, quotation marks, brackets: numbers of both sides, ratios both ways."""
    found = columns(load(FOLDER / "f.yaml"))
    assert len(found) == 2 * 5 + 2 * 4 + 2  # brackets opened and closed apart; words the corpus lacks
    assert {name for name in found if name.endswith("ratio")} == {
        f"{name}_{kind}" for name in ("tokens", "punctuation", "quote", "bracket")
        for kind in ("ratio", "inverse_ratio")
    }  # fmt: skip


@pytest.mark.parametrize("name", [*ROWS, "ssyn-syn"])
def test_binary_classes_are_those_of_the_paper_at_three_and_a_half(name: str) -> None:
    binary, classes = load(FOLDER / f"binary-{name}.yaml"), load(FOLDER / f"classes-{name}.yaml")
    assert binary.name == f"adequacy-binary-{name}" and binary.features == classes.features
    assert binary.split == classes.split and binary.evaluation.metric == "binary_accuracy"
    params = {**binary.learner[0].params, "interval": classes.learner[0].params["interval"]}
    assert params == classes.learner[0].params and binary.learner[0].kind == classes.learner[0].kind
    labels = np.array([1.0, 2.0, 3.0, 3.4, 3.5, 4.0, 5.0])
    learner = LEARNERS.get(binary.learner[0].kind)().estimator(seed=0, **binary.learner[0].params)
    answers = learner.fit(labels[:, None], labels).predict(labels[:, None])
    assert learner.classes_.tolist() == [0, 7]
    assert learner.frequencies_.tolist() == pytest.approx([4 / 7, 3 / 7])
    assert METRICS.get("binary_accuracy")().score(labels, answers) > 80


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
    assert {name.rsplit("_", 1)[0] for name in semantic - phrases} == {
        "entity_phrases_source_matching", "entity_phrases_target_matching",
    }  # fmt: skip
    assert len(semantic - phrases) == 10


def test_no_file_is_left_out() -> None:
    direct = [f"mlqe-{pair}-{name}" for pair in PAIRS for name in MLQE_ROWS]
    regressions = [*ROWS, "ssyn-syn"]
    classes = [f"{kind}-{name}" for kind in ("classes", "binary") for name in regressions]
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted([*regressions, *classes, *direct])
