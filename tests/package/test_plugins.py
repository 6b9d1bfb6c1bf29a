"""Strategies of other distributions: named by the experiment, recorded in the model, required on load."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import qe
from features.basics.errors import InputError
from features.core.feature_set import EXTRACTORS, FeatureSet
from qe.cli import _verbs
from qe.learning.learner import LEARNERS
from qe.statistics.metric import METRICS
from tests.factories import Monkeypatch, refuses, segments
from tests.factories import qe as command

MODULE = '''
from dataclasses import dataclass
import numpy as np
from sklearn.linear_model import HuberRegressor
from features.core.extractor import Extractor, Feature
from qe.learning.learner import Learner
from qe.statistics.metrics.errors import Mae

class Huber(Learner):
    """Huber's loss."""
    space = {}
    trusted_types = ("sklearn.linear_model._huber.HuberRegressor",)
    def estimator(self, *, seed=0, **params):
        return HuberRegressor(**params)

class Twice(Mae):
    """Twice the mean absolute error."""
    title = "2 MAE"
    def score(self, gold, predicted):
        return 2 * super().score(gold, predicted)

@dataclass(frozen=True)
class Exclamations(Extractor):
    """How many exclamation marks the target has."""
    @property
    def features(self):
        return [Feature("exclamations", "exclamation marks of the target", "acme", "marks")]
    def extract(self, segments):
        return np.array([text.count("!") for text in segments.target], float).reshape(-1, 1)

@dataclass(frozen=True)
class Flat(Exclamations):
    """The same, in one dimension if there is no row."""
    def extract(self, segments):
        return np.array([[text.count("!")] for text in segments.target], float)

class Unfinished(Extractor):
    """A family without features."""

def shout() -> None:
    """Print a mark."""
    print("!")

NOT_ONE = 3
'''
ENTRIES = """[mtqe.learner]
huber = acme_qe:Huber
wrong = acme_qe:NOT_ONE
[mtqe.metric]
twice = acme_qe:Twice
[mtqe.extractor]
exclamations = acme_qe:Exclamations
flat = acme_qe:Flat
lost = acme_qe:Lost
unfinished = acme_qe:Unfinished
broken = acme_broken:Broken
[mtqe.verb]
shout = acme_qe
whisper = acme_qe
mumble = acme_broken
"""


def install(folder: Path, version: str) -> None:
    """The distribution acme-qe, as pip would leave it."""
    (folder / "acme_qe.py").write_text(MODULE)
    (folder / "acme_broken.py").write_text("def (:")
    for old in folder.glob("acme_qe-*.dist-info/*"):
        old.unlink()
    for old in folder.glob("acme_qe-*.dist-info"):
        old.rmdir()
    info = folder / f"acme_qe-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-qe\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(ENTRIES)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: Monkeypatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "1.2")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("acme_qe", None)


def trained(folder: Path, extractor: str = "exclamations") -> Any:
    rng = np.random.default_rng(0)
    texts = ["a " * rng.integers(2, 9) + "!" * rng.integers(0, 4) for _ in range(60)]
    table = pd.DataFrame(
        {"source": texts, "target": texts, "score": [t.count("!") + len(t) / 50 for t in texts]}
    )
    data = qe.Dataset.from_frame(table, source_language="en", target_language="de", higher_is_better=True)
    settings = {
        "name": "foreign", "features": ["surface", f"acme-qe:{extractor}"], "split": {"folds": 3},
        "learner": {"kind": "acme-qe:huber"}, "search": {"objective": "acme-qe:twice"}, "tracking": "off",
        "evaluation": {"samples": 100, "robustness": False}, "guard": False,
    }  # fmt: skip
    return qe.train(qe.load_experiment(settings), folder / "out", dataset=data, cache=folder / "cache"), table


@pytest.mark.slow
def test_an_experiment_names_strategies_of_a_distribution(site: Path, tmp_path: Path) -> None:
    outcome, table = trained(tmp_path)
    assert "acme-qe.exclamations.exclamations" in outcome.report["features"]["names"]
    values = outcome.report["search"]["best_values"]["acme-qe:twice"]
    folds = outcome.report["search"]["fold_values"]["acme-qe:twice"]
    assert values == pytest.approx(np.mean(folds))
    loaded = qe.load_model(outcome.output / "model")
    assert np.isfinite(loaded.predict(table)["score"]).all()
    install(site, "1.3")
    with pytest.raises(
        InputError, match=r"trained with acme-qe 1.2, but 1.3 is installed; pip install acme-qe==1.2"
    ):
        qe.load_model(outcome.output / "model")
    for path in site.glob("*.dist-info/*"):
        path.unlink()
    for path in site.glob("*.dist-info"):
        path.rmdir()
    with pytest.raises(InputError, match="'acme-qe', which is not installed; pip install acme-qe==1.2"):
        qe.load_model(outcome.output / "model")


def test_nothing_is_imported_before_it_is_asked_for(site: Path) -> None:
    assert "acme-qe:huber" in LEARNERS and "acme-qe:twice" in METRICS and "acme-qe:exclamations" in EXTRACTORS
    assert "acme-qe:huber" not in LEARNERS.names and "acme-qe:other" not in LEARNERS
    assert "acme_qe" not in sys.modules
    assert LEARNERS.get("acme-qe:huber").__name__ == "Huber"


def test_an_extractor_of_a_distribution_is_checked_before_the_search(site: Path, tmp_path: Path) -> None:
    refuses(r"the extractor 'acme-qe:flat' fails on an empty batch: TypeError", trained, tmp_path, "flat")
    assert not (tmp_path / "out").exists()


def test_extractors_of_distributions_are_listed_and_described(site: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # names are not wrapped
    listed = command("features", "list").out
    assert "acme-qe:exclamations" in listed and "How many exclamation marks the target has." in listed
    assert "the extractor 'acme-qe:lost' cannot be loaded" in " ".join(listed.split())
    described = command("features", "describe", "acme-qe:exclamations")
    assert described.code == 0 and "acme-qe.exclamations.exclamations" in described.out
    assert "Huber's loss." in command("learners", "describe", "acme-qe:huber").out
    assert "did you mean 'acme-qe:exclamations'" in command("features", "describe", "acme-qe:exclamation").err


def test_a_plugin_that_is_wrong_breaks_neither_the_help_nor_the_lists(
    site: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setattr(_verbs, "_plugin_verbs", _verbs._plugin_verbs.__wrapped__)
    assert {_verbs.purpose(verb) for verb in _verbs.groups()["plugins"]} == {""}
    assert command("shout").out == "!\n"
    for verb, reason in (("whisper", "has no attribute 'whisper'"), ("mumble", "invalid syntax")):
        outcome = command(verb)
        assert outcome.code == 2 and f"the verb '{verb}' cannot be loaded: " in outcome.err
        assert reason in outcome.err
    listed = " ".join(command("features", "list").out.split())
    assert "'acme-qe:unfinished' lacks extract, features" in listed
    assert "'acme-qe:broken' cannot be loaded: invalid syntax" in listed


def test_what_is_wrong_with_a_name_is_told(site: Path) -> None:
    refuses("'acme-qe' 'hubr'; known: huber, wrong; did you", LEARNERS.get, "acme-qe:hubr")
    refuses("needs the distribution 'acme', which is not installed; pip install", LEARNERS.get, "acme:huber")
    refuses("'ridge:alpha=10' names parameters; give the name alone", LEARNERS.get, "ridge:alpha=10")
    refuses("'acme-qe:wrong' is no class made from Learner", LEARNERS.get, "acme-qe:wrong")


def test_columns_of_distributions_are_chosen_by_the_names_that_are_described(site: Path) -> None:
    config = {"kind": "acme-qe:exclamations", "only": ["acme-qe.exclamations.*"]}
    made = FeatureSet.make([config], None)
    assert made.names == ["acme-qe.exclamations.exclamations"]
    assert made.extract(segments("a", "b !")).to_numpy().tolist() == [[1.0]]
