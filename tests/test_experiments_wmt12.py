"""The experiments on the WMT 2012 task: each loads, and everything it names exists."""

import fnmatch
from pathlib import Path

import optuna
import pytest

from features.core.bundle import known_parts
from features.core.feature_set import EXTRACTORS, expand, parts_needed
from qe.experiment import Experiment, load
from qe.feature_catalogue import describe
from qe.search import Space

FOLDER = Path(__file__).resolve().parent.parent / "experiments" / "wmt12"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
OFFICIAL = {"baseline", "tcd-resources-only"}  # as published: nothing is absent
OWN = {name for name in NAMES if name.startswith(("best", "all-", "compact"))}


def experiment(name: str) -> Experiment:
    return load(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_named_like_its_file_and_says_what_is_absent(name: str) -> None:
    loaded = experiment(name)
    assert loaded.name == name and loaded.description
    if name in OWN:
        return
    assert loaded.published is not None
    assert bool(loaded.absent) == (name not in OFFICIAL)


@pytest.mark.parametrize("name", NAMES)
def test_learners_and_selectors_take_what_their_spaces_draw(name: str) -> None:
    """Every alternative of the search, drawn and made."""
    loaded = experiment(name)
    for learner in loaded.learner:
        for selector in loaded.selection:
            space = Space([learner], [selector])
            trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(0)).ask(space.distributions())
            candidate = space.draw(trial)
            assert candidate.pipeline(seed=0).named_steps["learn"] is not None


@pytest.mark.parametrize("name", NAMES)
def test_features_come_with_the_resources_and_translations_they_need(name: str) -> None:
    loaded = experiment(name)
    kinds = {config["kind"] for config in expand(loaded.features)}
    assert kinds <= set(EXTRACTORS.names)
    parts = parts_needed(loaded.features)
    assert set(parts) <= set(known_parts())
    assert bool(parts) == (loaded.resources is not None)
    second = {"pseudo_reference": "pseudo_reference", "error_classes": "pseudo_reference"}
    second["back_translation"] = "back_translation"
    needed = {second[kind] for kind in kinds if kind in second}
    extra = {"pseudo_reference", "back_translation"} if "word_quality" in kinds else set()
    assert needed <= set(loaded.translations) <= needed | extra


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_of_columns_matches(name: str) -> None:
    """Those of sets are tested with the sets."""
    for config in experiment(name).features:
        if "only" in config:
            columns = [feature.name for feature in describe(config["kind"])[1]]
            for pattern in config["only"]:
                assert fnmatch.filter(columns, pattern), (config["kind"], pattern)
