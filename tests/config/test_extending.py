"""`extends: FILE`: what a file has from another, what it changes, and what cannot be extended."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import qe
from features.storage.strict_yaml import to_yaml
from qe.config import Experiment, load
from tests.conftest import ROOT
from tests.factories import Capsys, Monkeypatch, exit_code

BASE = """
name: base
dataset: {format: mlqe_pe, path: data, pair: en-de, label: da}
annotations: {source: annotators/en, target: apertium}
resources: {source: "text/{pair}.{source}.gz", target: "text/{pair}.{target}.gz"}
features:
  - surface
  - {kind: lm, only: [a]}
  - {set: tcd45}
  - {kind: precomputed, files: {train: a.tsv}, columns: baseline17}
  - lm
learner: {kind: svr_rbf, params: {C: 2, gamma: 0.1}, space: {epsilon: [0.1, 0.2]}}
search: {trials: 9, objective: [mae, rmse]}
"""
EXPERIMENTS = sorted((ROOT / "experiments").rglob("*.yaml"))


def experiment(folder: Path, changes: str, base: str = BASE, beside: str = ".") -> Experiment:
    """The experiment of a file that extends `base`, which lies in the folder `beside` its own."""
    (folder / beside).mkdir(exist_ok=True)
    (folder / beside / "base.yaml").write_text(base)
    (folder / "x.yaml").write_text(f"extends: {beside}/base.yaml\n{changes}")
    return load(folder / "x.yaml")


def kinds(extended: Experiment) -> list[str]:
    return [config.get("kind") or config["set"] for config in extended.features]


def test_a_file_has_what_it_extends(tmp_path: Path) -> None:
    assert experiment(tmp_path, "").settings() == load(tmp_path / "base.yaml").settings()


def test_mappings_change_key_by_key_and_lists_as_a_whole(tmp_path: Path) -> None:
    changes = "dataset: {pair: ro-en}\nsearch: {objective: [pearson]}\nlearner: {params: {C: 4}}\n"
    extended = experiment(tmp_path, changes)
    assert extended.dataset.options() == {"pair": "ro-en", "label": "da"}
    assert extended.search.trials == 9 and extended.search.objective == ("pearson",)
    assert extended.learner[0].params == {"C": 4, "gamma": 0.1}
    assert extended.resources and extended.resources.source == tmp_path / "text" / "ro-en.ro.gz"


@pytest.mark.parametrize(
    ("changes", "params", "space"),
    [
        ("learner: {kind: ridge}", {}, None),
        ("learner: [{kind: svr_rbf}]", {}, None),
        ("learner: {space: {}}", {"C": 2, "gamma": 0.1}, {}),
        ("learner: {kind: svr_rbf, params: {}}", {}, {"epsilon": [0.1, 0.2]}),
    ],
)
def test_another_kind_and_an_empty_mapping_leave_nothing(
    tmp_path: Path, changes: str, params: Mapping[str, Any], space: Any
) -> None:
    (learner,) = experiment(tmp_path, changes).learner
    assert (learner.params, learner.space) == (params, space)


def test_another_format_takes_no_keys_of_the_one_before(tmp_path: Path) -> None:
    extended = experiment(tmp_path, "dataset: {format: wmt12, path: x}\nresources: null\n")
    assert extended.dataset.options() == {} and extended.resources is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ("[bag_of_words]", ["bag_of_words"]),
        ("{add: [bag_of_words]}", ["surface", "lm", "tcd45", "precomputed", "lm", "bag_of_words"]),
        ("{remove: [lm]}", ["surface", "tcd45", "precomputed"]),
        ("{add: [{kind: lm}], remove: [lm]}", ["surface", "tcd45", "precomputed", "lm"]),
        ("{remove: [{set: tcd45}, surface]}", ["lm", "precomputed", "lm"]),
        ("{remove: surface, add: ibm1}", ["lm", "tcd45", "precomputed", "lm", "ibm1"]),
    ],
)
def test_features_are_replaced_or_removed_and_then_added(
    tmp_path: Path, changes: str, expected: list[str]
) -> None:
    assert kinds(experiment(tmp_path, f"features: {changes}\n")) == expected


def test_paths_start_at_the_file_that_writes_them(tmp_path: Path) -> None:
    (tmp_path / "other" / "annotators" / "en").mkdir(parents=True)
    base = tmp_path / "other"
    extended = experiment(tmp_path, "resources: {target: own.gz}\n", beside="other")
    assert extended.settings()["resources"] == load(base / "base.yaml").settings()["resources"] | {
        "target": str(tmp_path / "own.gz")
    }
    assert extended.dataset.path == base / "data"
    assert extended.features[3]["files"] == {"train": str(base / "a.tsv")}
    assert extended.annotations == {"source": str(base / "annotators" / "en"), "target": "apertium"}


def test_with_a_data_root_all_paths_start_there(tmp_path: Path) -> None:
    experiment(tmp_path, "resources: {target: own.gz}\n", beside="other")
    extended = load(tmp_path / "x.yaml", data_root=Path("/data"))
    assert extended.dataset.path == Path("/data/data")
    assert extended.resources is not None
    paths = (extended.resources.source, extended.resources.target)
    assert paths == (Path("/data/text/en-de.en.gz"), Path("/data/own.gz"))


def test_chains_and_overrides(tmp_path: Path) -> None:
    experiment(tmp_path, "name: x\nfeatures: {remove: [lm, precomputed]}\n", beside="other")
    (tmp_path / "y.yaml").write_text("extends: x.yaml\nname: y\nfeatures: {add: [ibm1]}\n")
    extended = load(tmp_path / "y.yaml", overrides=["features.0=casing", "name=z"])
    assert kinds(extended) == ["casing", "tcd45", "ibm1"] and extended.name == "z"
    files = [tmp_path / "x.yaml", tmp_path / "other" / "base.yaml"]
    assert [path.resolve() for path in extended.inputs()[:2]] == files


def test_a_mapping_extends_a_file_of_the_working_directory(tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    experiment(tmp_path, "")
    monkeypatch.chdir(tmp_path)
    source = {"extends": "base.yaml", "features": {"remove": ["lm"]}}
    assert kinds(qe.load_experiment(source)) == ["surface", "tcd45", "precomputed"]
    assert qe.load_experiment(source).dataset.path == tmp_path / "data"
    assert qe.load_experiment(source, data_root="/data").dataset.path == Path("/data/data")


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_the_resolved_file_says_the_same(path: Path, tmp_path: Path) -> None:
    whole = load(path, data_root=tmp_path, overrides=["seed=7"])
    (tmp_path / "whole.yaml").write_text(to_yaml(whole.file_content()))
    assert load(tmp_path / "whole.yaml").settings() == whole.settings()
    assert "extends" not in whole.file_content()


def test_check_prints_the_resolved_file(tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "data").mkdir()
    base = "name: base\ndataset: {format: wmt12, path: data}\nfeatures: [surface]\nlearner: {kind: ridge}\n"
    experiment(tmp_path, "name: x\nfeatures: {add: [token_counts]}\n", base)
    command = ["train", str(tmp_path / "x.yaml"), "--check", "--print", "--set", "seed=3"]
    for more in ([], ["--json"]):
        assert exit_code(*command, *more) == 0
    printed, _, listed = capsys.readouterr().out.partition("{\n")
    (tmp_path / "whole.yaml").write_text(printed)
    whole = load(tmp_path / "whole.yaml")
    assert whole.settings() == load(tmp_path / "x.yaml", overrides=["seed=3"]).settings()
    assert json.loads("{" + listed)["experiments"] == [whole.file_content()]
