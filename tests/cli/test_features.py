"""`qe features`: what the catalogue shows, and the table that `extract` writes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import features
from features import Segments, Tokenizer
from features.basics.errors import InputError
from features.core.feature_set import EXTRACTORS, make_extractor, set_names
from features.surface import Surface
from qe.config import load
from qe.getting_started.catalogue.feature_tables import extract
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.check import check
from qe.training.preparation import prepare
from tests.factories import exit_code, ran

COSTS = yaml.safe_load((Path(features.__file__).parent / "costs.yaml").read_text("utf-8"))["families"]
BACKWARD = [f"lm_source_backward_{name}_4" for name in ("log10", "per_token", "perplexity")]
FAMILIES = ["surface", {"kind": "lm", "orders": "all", "only": BACKWARD}]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's data root, small."""
    root = tmp_path_factory.mktemp("features")
    generate(root / "data", pairs=200, train=40, test=12, new=1)
    return root


@pytest.mark.slow
def test_list_as_json() -> None:
    content = described("list")
    families = {family["name"]: family for family in content["families"]}
    assert list(families) == list(EXTRACTORS.names)
    assert set(families["lm"]["resources"]) >= {"source_lm5", "target_lm", "target_lm_backward"}
    assert families["decoder"]["columns"] == ["subwords", "token_log_probabilities"]
    assert families["surface"]["microseconds"] == COSTS["surface"]
    assert families["precomputed"]["microseconds"] is None
    sets = {entry["name"]: entry for entry in content["sets"]}
    assert list(sets) == set_names() and sets["limsi31"]["absent"] == []
    costs = sum(COSTS[name] for name in sets["limsi31"]["families"])
    assert sets["limsi31"]["microseconds"] == pytest.approx(costs)
    words = {line.split()[0] for line in ran("features", "list").out.splitlines() if line}
    assert words >= {*EXTRACTORS.names, *set_names()}


def test_describe_a_family() -> None:
    content = described("describe", "machine_lm")
    assert content["microseconds"] == COSTS["machine_lm"] and len(content["features"]) == 4
    shown = ran("features", "describe", "machine_lm").out
    assert all(f"\n{feature['name']} " in shown for feature in content["features"])
    both = described("describe", "baseline17")  # a set has this name, too
    assert len(both["features"]) == 17 and "source_lm" in both["resources"]


def test_describe_a_set() -> None:
    content = described("describe", "uu-explicit99")
    names = [feature["name"] for feature in content["features"]]
    assert len(names) == 99 and "lm_source_perplexity" not in names  # lm is not whole
    assert content["origin"].startswith("Hardmeier") and content["absent"] == []
    shown = ran("features", "describe", "uu-explicit99").out
    assert "\nibm1_source_translations_0.1_by_frequency " in shown
    assert "did you mean 'uu-explicit99'?" in ran("features", "describe", "uu-explicit", code=2).err


def test_describe_a_family_without_default_columns() -> None:
    content = described("describe", "precomputed")
    assert content["parameters"] == ["files", "columns"] and content["features"] == []
    assert "files, columns" in ran("features", "describe", "precomputed").out


def arguments(folder: Path, location: Path) -> Sequence[object]:
    chosen = f"features={json.dumps(FAMILIES)}"
    common = ("--data-root", folder, "--set", chosen, "--cache-dir", folder / "cache", "--quiet")
    return ("extract", EXPERIMENT, *common, "--output", location)


@pytest.mark.slow
def test_extract_writes_what_the_families_compute(folder: Path, tmp_path: Path) -> None:
    assert exit_code("features", *arguments(folder, tmp_path / "found.parquet")) == 0
    table = pd.read_parquet(tmp_path / "found.parquet")
    assert table["split"].tolist() == ["train"] * 40 + ["test"] * 12
    assert table["id"].tolist() == [
        f"{s}-{i}" for s, n in (("train", 40), ("test", 12)) for i in range(1, n + 1)
    ]
    assert list(table.columns[3:]) == [*Surface().names, *BACKWARD]
    for split in ("train", "test"):
        rows = table[table["split"] == split]
        np.testing.assert_array_equal(rows["gold"], np.loadtxt(folder / "data" / f"{split}.scores"))
        segments = segments_of(folder, split)
        np.testing.assert_array_equal(rows[list(Surface().names)], Surface().extract(segments))
        np.testing.assert_array_equal(rows[BACKWARD], backward_scores(folder, segments))


def segments_of(folder: Path, split: str) -> Segments:
    lines = [
        (folder / "data" / f"{split}.{side}").read_text("utf-8").splitlines() for side in ("source", "target")
    ]
    return Segments(tuple(lines[0]), tuple(lines[1]), Tokenizer("en"), Tokenizer("es"))


def backward_scores(folder: Path, segments: Segments) -> Any:
    loaded = load(EXPERIMENT, data_root=folder, overrides=[f"features={json.dumps(FAMILIES)}"])
    extractor = make_extractor(
        {"kind": "lm", "orders": "all"}, prepare(check(loaded), folder / "cache").bundle
    )
    return extractor.extract(segments)[:, [extractor.names.index(name) for name in BACKWARD]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["found.tsv", "found", "found.parquet.gz"])
def test_extract_refuses_other_endings_before_the_work(name: str, folder: Path, tmp_path: Path) -> None:
    places = ("--data-root", folder, "--cache-dir", tmp_path / "cache", "-o", tmp_path / name)
    message = ran("features", "extract", EXPERIMENT, *places, code=2).err
    assert name in message and ".parquet" in message
    assert list(tmp_path.iterdir()) == []  # no cache either: nothing was built
    with pytest.raises(InputError, match="Parquet"):
        extract(load(EXPERIMENT, data_root=folder), tmp_path / name, tmp_path, lambda *_: None)


def described(*arguments: object) -> Any:
    return json.loads(ran("features", *arguments, "--json").out)
