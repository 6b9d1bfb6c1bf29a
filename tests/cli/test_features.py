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
from tests.factories import exit_code

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


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What the command printed; it must succeed."""
    assert exit_code("features", *arguments) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_list_shows_families_and_sets(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "list")
    first_words = {line.split()[0] for line in out.splitlines() if line}
    assert first_words >= {*EXTRACTORS.names, *set_names()}
    assert "Hardmeier et al. 2012 (UU at WMT12), section 2.1" in out


@pytest.mark.slow
def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(output(capsys, "list", "--json"))
    families = {family["name"]: family for family in content["families"]}
    assert list(families) == list(EXTRACTORS.names)
    assert families["lm"]["resources"] == [
        "source_lm5",
        "target_lm",
        "source_lm_backward",
        "target_lm_backward",
    ]
    assert families["decoder"]["columns"] == ["subwords", "token_log_probabilities"]
    assert families["surface"]["microseconds"] == COSTS["surface"]
    assert families["precomputed"]["microseconds"] is None
    sets = {entry["name"]: entry for entry in content["sets"]}
    assert list(sets) == set_names()
    assert sets["limsi31"]["families"] == ["baseline17", "ibm1", "ngram_frequency", "lm", "function_words"]
    assert sets["limsi31"]["microseconds"] == pytest.approx(
        sum(COSTS[name] for name in sets["limsi31"]["families"])
    )
    assert sets["limsi31"]["absent"] == []


def test_describe_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "describe", "machine_lm")
    assert "Needs the resources target_lm" in out
    assert f"Costs {COSTS['machine_lm']:,.0f} µs per segment" in out
    for name in ("log10", "human_advantage", "lowest_advantage", "machine_like"):
        assert f"\nmachine_lm_{name} " in out
    content = json.loads(output(capsys, "describe", "machine_lm", "--json"))
    assert content["microseconds"] == COSTS["machine_lm"]
    assert [set(feature) for feature in content["features"]] == [
        {"name", "description", "origin", "unit", "plain"}
    ] * 4


def test_describe_a_set(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "describe", "uu-explicit99")
    for expected in (
        "The 17 baseline features and 82 explicit ones, without tree kernels.",
        "Source: Hardmeier et al. 2012 (UU at WMT12), section 2.1",
        "\n1001_source_tokens ",
        "\nibm1_source_translations_0.1_by_frequency ",
    ):
        assert expected in out
    content = json.loads(output(capsys, "describe", "uu-explicit99", "--json"))
    names = [feature["name"] for feature in content["features"]]
    assert len(names) == 99 and "lm_source_perplexity" not in names  # lm is not whole
    assert content["origin"].startswith("Hardmeier") and content["absent"] == []


def test_describe_of_one_name_for_both_is_of_the_family(capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(output(capsys, "describe", "baseline17", "--json"))
    assert len(content["features"]) == 17 and "source_lm" in content["resources"]


def test_describe_a_family_without_default_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "describe", "precomputed")
    assert "files    split -> file: one segment per line" in out
    assert "Its features depend on parameters without a default: files, columns" in out
    content = json.loads(output(capsys, "describe", "precomputed", "--json"))
    assert content["parameters"] == ["files", "columns"] and content["features"] == []


@pytest.mark.parametrize(("name", "near"), [("surfaces", "surface"), ("uu-explicit", "uu-explicit99")])
def test_describe_an_unknown_name(name: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("features", "describe", name) == 2
    captured = capsys.readouterr()
    assert f"unknown family or set '{name}'" in captured.err
    assert f"did you mean '{near}'?" in captured.err and captured.out == ""


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
def test_extract_refuses_other_endings_before_the_work(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        exit_code(
            "features",
            "extract",
            EXPERIMENT,
            "--data-root",
            folder,
            "--cache-dir",
            tmp_path / "cache",
            "-o",
            tmp_path / name,
        )
        == 2
    )
    message = capsys.readouterr().err
    assert name in message and "Parquet" in message and ".parquet" in message
    assert list(tmp_path.iterdir()) == []  # no cache either: nothing was built
    with pytest.raises(InputError, match="Parquet"):
        extract(load(EXPERIMENT, data_root=folder), tmp_path / name, tmp_path, lambda *_: None)
