"""The experiments on the WMT 2012 task: each loads, and everything it names exists."""

import fnmatch
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from features.core.bundle import known_parts
from features.core.feature_set import EXTRACTORS, expand, parts_needed
from features.core.tree_columns import make_trees
from qe.config.experiment import Experiment, load
from qe.getting_started.catalogue.features import columns_of
from qe.training.check import mistakes
from qe.training.plan import Space

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "wmt12"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
OFFICIAL = {"baseline", "tcd-resources-only", "uu-d"}  # as published: nothing is absent
OFFICIAL_17 = ["precomputed"]
ALL = [*OFFICIAL_17, "uu-explicit99"]
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
def test_what_is_absent_nobody_can_have(name: str) -> None:
    """Choices that a paper does not print, and tools that can be installed, are deviations: comments."""
    for entry in experiment(name).absent:
        assert not any(each in entry for each in ("does not say", "does not print", "which Debian has")), (
            entry
        )


# What the papers print of their learners and selections, as settings of the files.
CHOICES: list[tuple[str, dict[str, object]]] = [
    ("limsi-forest", {"kind": "random_forest", "params": {"max_features": None}}),  # scikit-learn's of then
    ("limsi-forest", {"n_estimators": [10, 100], "min_samples_leaf": [1, 3, 5, 10]}),  # trees, stopping
    ("loria-rbf", {"learner": {"kind": "svr_rbf", "C": 1.0, "gamma": "auto", "epsilon": 0.1}}),
    ("prhlt-gs", {"kind": "greedy_individual", "params": {"metric": "delta_avg"}}),
    ("prhlt-gs", {"kind": "tuned", "params": {"metric": "delta_avg"}}),
    ("prhlt-gs-scoring", {"kind": "greedy_individual", "params": {"metric": "mae"}}),
    ("prhlt-gs-scoring", {"kind": "tuned", "params": {"metric": "mae"}}),
    ("sjtu", {"kind": "tuned", "params": {"columns": 17, "validation": 0.25}}),
    ("dfki-morphposibm1lm", {"kind": "unsupervised_mean", "params": {"standardise": False}}),
    ("dfki-cfs-plsreg", {"kind": "grammar_checks", "characters": True}),
    ("dfki-cfs-plsreg", {"kind": "cfs", "interval": 0.25, "locally_predictive": True}),
    ("dfki-grcfs-mars", {"kind": "cfs", "params": {"interval": 0.25, "locally_predictive": True}}),
    ("wlv-shef-fs", {"kind": "subjects", "parser": "constituents"}),
    ("dcu-symc-regression", {"kind": "tuned", "member": {"kind": "svr_rbf"}}),
]


def holds(tree: object, part: object) -> bool:
    """Whether some mapping inside has these keys with these values, nested ones likewise."""
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return agrees(tree, part) or any(holds(each, part) for each in inside)


def agrees(tree: object, part: object) -> bool:
    if isinstance(tree, dict) and isinstance(part, dict):
        return all(key in tree and agrees(tree[key], value) for key, value in part.items())
    return tree == part


@pytest.mark.parametrize(("name", "choice"), CHOICES, ids=[name for name, _ in CHOICES])
def test_it_chooses_as_its_paper_says(name: str, choice: dict[str, object]) -> None:
    assert holds(experiment(name).model_dump(mode="json", by_alias=True), choice)


def test_the_optimised_kernel_of_loria_searches_its_width_alone() -> None:
    (learner,) = experiment("loria-rbf-optimised").learner
    assert [chosen.kind for chosen in experiment("loria-rbf-optimised").selection] == ["none"]
    assert list(learner.params["grid"]) == ["gamma"] and not learner.space


@pytest.mark.parametrize(
    ("name", "blocks"), [("sdllw-m5p", ["news-test2008"]), ("prhlt-gs", ["news-test2008", "newstest2011"])]
)
def test_development_sets_are_blocks_of_the_corpus_without_the_task(
    name: str, blocks: list[str], shared_data: Callable[[str], Path]
) -> None:
    """news-test2009 and 2010 hold the task's segments, and are not in the corpus."""
    rows = [
        line.split("\t")
        for line in shared_data("parallel/en-es/train.sources.tsv").read_text("utf-8").splitlines()
    ]
    found = [row for row in rows if row[0] in blocks]
    assert [row[0] for row in found] == blocks and not any("2009" in row[0] for row in rows)
    settings = experiment(name).model_dump(mode="json")["resources"]["settings"]["development_set"]
    assert (settings["first_line"], settings["last_line"]) == (int(found[0][1]), int(found[-1][2]))


@pytest.mark.parametrize("name", NAMES)
def test_learners_and_selectors_take_what_their_spaces_draw(name: str) -> None:
    """Every alternative of the search, drawn and made."""
    loaded = experiment(name)
    for learner in loaded.learner:
        for selector in loaded.selection:
            space = Space([learner], [selector])
            trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(0)).ask()
            candidate = space.draw(trial)
            assert candidate.pipeline(seed=0).named_steps["learn"] is not None


@pytest.mark.slow
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
    kinds = {each["kind"] for each in expand(loaded.features) if "engine" not in each}
    needed = {second[kind] for kind in kinds if kind in second}
    extra = {"pseudo_reference", "back_translation"} if "word_quality" in kinds else set()
    assert needed <= set(loaded.translations) <= needed | extra


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_trees_come_with_the_annotations_they_need(name: str) -> None:
    """And with learners and selectors that work beside them."""
    loaded = experiment(name)
    assert not [
        mistake for mistake in mistakes(loaded, []) if mistake.startswith(("trees", "learner", "selection"))
    ]
    needed = {tree.requires() for tree in make_trees(loaded.trees)}
    assert needed <= {
        f"annotation_{side}" for side in loaded.annotations
    }  # by programs, or learned from treebanks


def test_the_rows_of_uu() -> None:
    """Table 1 of Hardmeier et al. 2012: features, T, C, degree; the two systems search around theirs."""
    rows = {
        "best": (ALL, 0.05, 4, 2), "a": (ALL, 0.03, 8, 3), "b": (OFFICIAL_17, 0.05, 4, 2),
        "bltk": (OFFICIAL_17, 0.03, 8, 3), "c": (ALL, None, 8, 2), "d": (OFFICIAL_17, None, 8, 2),
        "e": ([], 1, 4, None), "d-own": (["baseline17"], None, 8, 2),
        "best-own": (["uu-explicit99"], 0.05, 4, 2),
    }  # fmt: skip
    for row, (features, weight, c, degree) in rows.items():
        loaded = experiment(f"uu-{row}")
        assert [next(iter(config.values())) for config in loaded.features] == features
        assert [(tree["kind"], tree["side"]) for tree in loaded.trees] == (
            []
            if weight is None
            else [("constituents", "source"), ("dependencies", "source"), ("dependencies", "target")]
        )
        expected = {"tree_weight": weight, "C": c, "degree": degree}
        (learner,) = loaded.learner
        for name, value in expected.items():
            searched = (learner.space or {}).get(name)
            assert value in searched if searched else learner.params.get(name) == value


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_of_columns_matches(name: str) -> None:
    """Those of sets are tested with the sets."""
    for config in experiment(name).features:
        if "only" in config:
            whole = {key: value for key, value in config.items() if key != "only"}
            columns = [feature.name for feature in columns_of([whole])]
            for pattern in config["only"]:
                assert fnmatch.filter(columns, pattern), (config["kind"], pattern)


@pytest.mark.parametrize(("name", "features"), [("wlv-shef-bl", 17 + 70), ("wlv-shef-fs", 77 + 70)])
def test_wlv_shef_has_as_many_features_as_the_paper(name: str, features: int) -> None:
    """Felice and Specia 2012, sections 3.1 and 4.1: 70 linguistic ones; 147 with the 77 shallow ones."""
    kept: set[str] = set()
    for config in expand(experiment(name).features):
        columns = [f.name for f in columns_of([{k: v for k, v in config.items() if k != "only"}])]
        chosen = [fnmatch.filter(columns, pattern) for pattern in config.get("only", ["*"])]
        kept |= {column for matched in chosen for column in matched}
    assert len(kept) == features


PAPERS_WITH_THE_OFFICIAL_17 = (
    "baseline", "dcu-", "dfki-cfs", "dfki-grcfs", "loria-", "prhlt-", "sdllw-", "sjtu", "tcd-", "uedin",
    "upc-", "uu-", "wlv-",
)  # fmt: skip


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(PAPERS_WITH_THE_OFFICIAL_17)])
def test_papers_that_used_the_organisers_values_have_them_first(name: str) -> None:
    """But for those that say otherwise by their names, and the one without features (uu-e)."""
    features = expand(experiment(name).features)
    if name.endswith("-own"):
        assert "precomputed" not in {config["kind"] for config in features}
    elif name != "uu-e":
        assert features[0]["kind"] == "precomputed" and features[0]["columns"] == "baseline17"
        assert "baseline17" not in {config["kind"] for config in features}
