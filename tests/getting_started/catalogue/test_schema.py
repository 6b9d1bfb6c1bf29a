"""The JSON Schema of the experiment file, asked by a validator of others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from features.storage.strict_yaml import parse, read_mapping
from qe.data.format import examples
from qe.getting_started.catalogue.schema import experiment_schema
from qe.getting_started.demo.run import EXPERIMENT
from tests.conftest import ROOT
from tests.factories import exit_code

jsonschema = pytest.importorskip("jsonschema", reason="the package jsonschema is not installed")

FILES = sorted((ROOT / "experiments").rglob("*.yaml"))
assert FILES


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = experiment_schema()
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema)
    return kind(schema)


def mistakes(validator: Any, content: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(content)]


@pytest.mark.slow
@pytest.mark.parametrize("path", [*FILES, EXPERIMENT], ids=lambda path: path.stem)
def test_it_accepts_every_experiment_of_the_project(validator: Any, path: Path) -> None:
    assert mistakes(validator, read_mapping(path, "experiment file")) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_experiments_name_the_schema(path: Path) -> None:
    first = path.read_text("utf-8").split("\n")[0]
    assert first == "# yaml-language-server: $schema=../schema.json"


@pytest.mark.slow
@pytest.mark.parametrize("name", examples())
def test_it_accepts_the_examples_of_formats(validator: Any, name: str) -> None:
    example = examples()[name]
    rest = "name: a\nfeatures: [surface]\nlearner: {kind: ridge}\n"
    assert mistakes(validator, parse(example.section + rest, name)) == []


BASE = {
    "name": "a",
    "dataset": {"format": "wmt12", "path": "x"},
    "features": ["surface", {"kind": "lm", "only": ["a*"], "target_lm": "other"}, {"set": "tcd45"}],
    "learner": {"kind": "svr_rbf", "params": {"C": 1}, "space": {"gamma": {"low": 0.1, "high": 1}}},
    "selection": [{"kind": "none"}],
    "search": {"objective": "mae"},
    "trees": [{"kind": "dependencies", "side": "source", "tag": "xpos"}],
}


FIRST = {"format": "wmt12", "path": "x", "rows": 5}
OTHER = {**FIRST, "weight": 0.5, "scaling": "ranks", "align": True, "train": "train", "label": "hter"}
OWN_RESOURCES = {**FIRST, "resources": {"bundle": "b"}, "train": ["train"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tracking": False},
        {"tracking": "off"},
        {"tracking": {"register": False, "tags": {"team": "a"}}},
        {"dataset": [FIRST, OTHER, OWN_RESOURCES]},
    ],
    ids=str,
)
def test_it_accepts_right_ones(validator: Any, changes: dict[str, Any]) -> None:
    assert mistakes(validator, {**BASE, **changes}) == []


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"dataset": {"label": "hter"}, "learner": {"params": {"C": 1}}, "selection": {"space": {}}},
        {"features": {"remove": ["lm", {"set": "tcd45"}], "add": ["surface", {"kind": "lm"}]}},
        {"features": {"remove": "lm"}},
        {"features": {"add": {"set": "tcd45"}}},
    ],
    ids=str,
)
def test_it_accepts_what_differs_from_another(validator: Any, changes: dict[str, Any]) -> None:
    assert mistakes(validator, {"extends": "base.yaml", **changes}) == []
    assert mistakes(validator, changes)
    assert not changes or mistakes(validator, {**BASE, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"features": {"remove": ["lms"]}},
        {"features": {"add": ["lms"]}},
        {"features": {"ad": ["lm"]}},
        {"features": {}},
        {"dataset": {"format": "wmt21"}},
        {"dataset": {"format": "wmt12", "pair": "en-es"}},
        {"learner": [{"params": {}}]},
        {"learner": {"kind": "ridge", "params": {"C": 1}}},
        {"extends": 3},
    ],
    ids=str,
)
def test_it_refuses_what_is_wrong_in_a_file_that_extends(validator: Any, changes: dict[str, Any]) -> None:
    assert mistakes(validator, {"extends": "base.yaml", **changes})


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        {"sed": 1},
        {"tracking": "of"},
        {"seed": -1},
        {"dataset": {"format": "wmt21", "path": "x"}},
        {"dataset": {"format": "wmt12", "path": "x", "pair": "en-es"}},
        {"dataset": {"format": "wmt12", "path": "x", "label": "da"}},
        {"dataset": {"format": "table", "path": "x"}},
        {"dataset": []},
        {"dataset": [BASE["dataset"], {"format": "wmt12", "path": "x", "weight": 0}]},
        {"dataset": [BASE["dataset"], {"format": "wmt12", "path": "x", "scaling": "log"}]},
        {"dataset": [BASE["dataset"], {"format": "wmt12", "path": "x", "pair": "en-es"}]},
        {"dataset": [BASE["dataset"], {"format": "wmt12", "path": "x", "resources": {"bundel": "b"}}]},
        {"features": ["surfaces"]},
        {"features": [{"kind": "surface", "orders": [1]}]},
        {"features": [{"kind": "machine_lm", "order": "three"}]},
        {"features": [{"set": "tcd45", "only": ["a"]}]},
        {"learner": {"kind": "svr"}},
        {"learner": [{"kind": "ridge", "params": {"C": 1}}]},
        {"learner": {"params": {}}},
        {"selection": {"kind": "ridge"}},
        {"search": {"objective": ["mea"]}},
        {"search": {"trials": 0}},
        {"evaluation": {"metric": "bleu"}},
        {"translations": {"pseudo_reference": "google"}},
        {"resources": {"settings": {"source_lm9": {}}}},
        {"trees": [{"kind": "dependencies", "side": "left"}]},
        {"split": {"by": "chance"}},
    ],
    ids=str,
)
def test_it_refuses_what_loading_refuses(validator: Any, wrong: dict[str, Any], tmp_path: Path) -> None:
    from features.basics.errors import InputError
    from qe.training.check import load

    content = {**BASE, **wrong}
    assert mistakes(validator, content)
    path = tmp_path / "x.yaml"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError):
        load(path)


@pytest.mark.slow
def test_the_verb_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for output in ([], ["--output", str(tmp_path / "schema.json")]):
        assert exit_code("schema", *output) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == experiment_schema()
    assert (tmp_path / "schema.json").read_text("utf-8") == printed


@pytest.mark.slow
def test_descriptions_are_texts_and_no_signatures(validator: Any) -> None:
    described = re.findall(r'"description": "(\w+\([\w*][^)]*:)', json.dumps(validator.schema))
    assert described == []
