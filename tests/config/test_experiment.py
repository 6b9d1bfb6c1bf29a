"""The experiment file: strict keys, overrides, paths."""

from pathlib import Path

import pytest

from features import Segments, Tokenizer
from features.basics.progress import silent
from features.core.feature_set import EXTRACTORS
from qe.config.experiment import ResourcesSection, load
from qe.learning.learner import LEARNERS
from qe.learning.learners.ensembles import make_members
from qe.resources.bundle_source import corpus_absent, resources_for
from tests.factories import refuses

MINIMAL = """
name: small
dataset: {format: wmt12, path: wmt12-qe}
features: [baseline17]
learner: {kind: ridge}
"""


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(MINIMAL)
    return path


def test_a_strategy_is_set_by_its_name(minimal: Path) -> None:
    loaded = load(minimal, overrides=["learner=svr_rbf", "selection=forward"])
    assert [one.kind for one in (*loaded.learner, *loaded.selection)] == ["svr_rbf", "forward"]
    same = load(minimal, overrides=["learner.kind=svr_rbf", "selection={kind: forward}"])
    assert (loaded.learner, loaded.selection) == (same.learner, same.selection)
    assert loaded.run_name == "svr_rbf, forward"


def test_defaults_and_short_forms(minimal: Path) -> None:
    loaded = load(minimal)
    assert loaded.features == ({"kind": "baseline17"},)
    assert loaded.learner[0].kind == "ridge" and loaded.selection[0].kind == "none"
    assert loaded.search.objective == ("mae",)


def test_relative_paths_start_at_the_file_or_at_the_data_root(minimal: Path, tmp_path: Path) -> None:
    assert load(minimal).dataset.path == tmp_path / "wmt12-qe"
    assert load(minimal, data_root=tmp_path / "data").dataset.path == tmp_path / "data" / "wmt12-qe"


def test_paths_of_extractors_are_resolved(minimal: Path, tmp_path: Path) -> None:
    minimal.write_text(
        MINIMAL.replace("[baseline17]", "[{kind: precomputed, files: {train: a.tsv}, names: baseline17}]")
    )
    assert load(minimal).features[0]["files"] == {"train": str(tmp_path / "a.tsv")}


def test_overrides_are_read_as_yaml(minimal: Path) -> None:
    loaded = load(minimal, overrides=["search.trials=7", "learner.params={alpha: 2.5}", "features.0=surface"])
    assert loaded.search.trials == 7
    assert loaded.learner[0].params == {"alpha": 2.5}
    assert loaded.features == ({"kind": "surface"},)


RESOURCES = (
    "resources: {source: 'parallel/{pair}/train.{source}.gz', target: 'parallel/{pair}/train.{target}.gz'}\n"
)


def test_placeholders_of_resources_are_the_languages_of_the_pair(minimal: Path, tmp_path: Path) -> None:
    minimal.write_text(MINIMAL + RESOURCES)
    resources = load(minimal, overrides=["dataset.pair=ro-en"]).resources
    assert resources is not None and not resources.optional
    assert resources.source == tmp_path / "parallel" / "ro-en" / "train.ro.gz"
    assert resources.target == tmp_path / "parallel" / "ro-en" / "train.en.gz"


@pytest.mark.slow
def test_an_optional_corpus_that_is_absent_is_the_task_itself(tmp_path: Path) -> None:
    segments = Segments(("a house", "the house"), ("una casa", "la casa"), Tokenizer("en"), Tokenizer("es"))
    section = ResourcesSection(source=tmp_path / "s", target=tmp_path / "t", optional=True)
    assert corpus_absent(section)
    bundle = resources_for(section, segments, ["target_ngrams"], tmp_path / "cache", silent)
    assert bundle is not None and bundle.manifest["pairs"] == 2
    again = resources_for(section, segments, ["target_ngrams"], tmp_path / "cache", silent)
    assert again is not None and again.path == bundle.path
    (tmp_path / "s").write_text("a\n")
    assert not corpus_absent(section)  # half a corpus is a mistake, not an absence
    refuses("no such file", resources_for, section, segments, ["target_ngrams"], tmp_path / "cache", silent)


@pytest.mark.parametrize("name", ["en-de-da", "en-de-hter", "ro-en-da", "ro-en-hter"])
def test_the_mlqe_experiments_run_on_any_pair(name: str) -> None:
    path = Path(__file__).resolve().parents[2] / "experiments" / "mlqe" / f"{name}.yaml"
    loaded = load(path, data_root=Path("/data"), overrides=["dataset.pair=et-en"])
    assert loaded.name == name and loaded.resources is not None and loaded.resources.optional
    assert loaded.resources.source == Path("/data/parallel/et-en/train.et.gz")
    assert all(EXTRACTORS.get(config["kind"]) for config in loaded.features)
    made = LEARNERS.get(loaded.learner[0].kind)().estimator(**loaded.learner[0].params)
    assert make_members(made.members, 0)
