"""A model without what its selector dropped scores as before, to the last bit, and computes less."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Extractor, Feature, FeatureSet, Segments, Tokenizer
from features.basics.array_types import FloatArray
from qe.data import LabelScale
from qe.models import Model
from qe.models.pipeline import Candidate, fit
from qe.models.pruning import pruned, selection

TOKENIZERS = Tokenizer("en"), Tokenizer("es")
FAMILIES = ["surface", "token_counts", "deictics"]
PICKED = ["tokens_source", "tokens_target"]


def texts(n: int, seed: int) -> Segments:
    """Words of one to nine letters, some with capitals, and punctuation."""
    rng = np.random.default_rng(seed)

    def line() -> str:
        words = ["".join(rng.choice(list("abcdeO"), rng.integers(1, 10))) for _ in range(rng.integers(1, 20))]
        return " ".join([*words, *(rng.choice([",", ".", "?"], 2))])

    columns = {"source": [line() for _ in range(n)], "target": [line() for _ in range(n)]}
    return Segments.from_columns(columns, *TOKENIZERS)


def model(candidate: Candidate, families: list[str] | None = None) -> Model:
    features = FeatureSet.make([{"kind": kind} for kind in families or FAMILIES], None)
    segments = texts(120, 0)
    gold = segments.target_tokens.lengths + np.random.default_rng(1).normal(size=120)
    pipeline = fit(candidate.pipeline(0), features.extract(segments), gold)
    return Model("m", candidate, pipeline, features, LabelScale("x", None, None, True), TOKENIZERS)


def picking(names: list[str], learner: str = "ridge") -> Candidate:
    return Candidate(learner, {}, "family", {"keep": names})


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ridge", "lightgbm", "svr_rbf"])
@pytest.mark.parametrize("selector", ["forward", "family"])
def test_scores_are_those_of_the_whole_model(learner: str, selector: str, tmp_path: Path) -> None:
    chosen = (
        Candidate(learner, {}, "forward", {"max_features": 4})
        if selector == "forward"
        else picking(PICKED, learner)
    )
    whole = model(chosen)
    small = pruned(whole)
    small.save(tmp_path / "model")
    loaded, new = Model.load(tmp_path / "model"), texts(50, 2)
    assert 0 < len(loaded.feature_set.names) < len(whole.feature_set.names)
    expected = whole.predict(new)
    assert np.ptp(expected) > 0
    for one in (small, loaded):
        np.testing.assert_array_equal(one.predict(new), expected)


@pytest.mark.slow
def test_families_that_gave_only_dropped_columns_are_gone() -> None:
    whole = model(picking(PICKED))
    small = pruned(whole)
    assert [config["kind"] for config in whole.feature_set.configs] == FAMILIES
    assert [dict(config) for config in small.feature_set.configs] == [{"kind": "surface", "only": PICKED}]
    assert small.feature_set.names == PICKED
    assert selection(whole.pipeline, whole.feature_set.names) == {"selected": PICKED}


@pytest.mark.slow
def test_where_a_selector_makes_new_columns_or_keeps_all_the_model_stays() -> None:
    for candidate in (
        Candidate("ridge", {}, "pca", {"n_components": 3}),
        Candidate("ridge"),
        picking(model(Candidate("ridge")).feature_set.names),
    ):
        whole = model(candidate)
        assert pruned(whole) is whole
    assert selection(model(Candidate("ridge")).pipeline, []) == {}


@pytest.mark.slow
def test_programs_are_asked_for_columns_of_families_that_stay_alone() -> None:
    """The back-translation is only read by the family that is dropped; nobody says who reads the other."""
    made = {"back_translation": "apertium", "annotation_source": "apertium"}
    whole = replace(model(picking(PICKED)), made_columns=made)
    needy = _Needy(("made_by_needy",), ("back_translation",))
    features = whole.feature_set
    wider = replace(
        features, configs=(*features.configs, {"kind": "needy"}), extractors=(*features.extractors, needy)
    )
    segments = replace(texts(120, 0), back_translation=["a"] * 120)
    pipeline = fit(picking(PICKED).pipeline(0), wider.extract(segments), np.arange(120.0))
    small = pruned(replace(whole, feature_set=wider, pipeline=pipeline))
    assert small.made_columns == {"annotation_source": "apertium"}
    assert "back_translation" not in small.columns()


@dataclass(frozen=True)
class _Needy(Extractor):
    columns: tuple[str, ...]
    needs: tuple[str, ...] = ()

    @property
    def features(self) -> list[Feature]:
        return [Feature(name, name, "test", "") for name in self.columns]

    def requires(self) -> tuple[str, ...]:
        return self.needs

    def extract(self, segments: Segments) -> FloatArray:
        return np.zeros((len(segments), len(self.columns)))


class _Silent(_Needy):
    def extract(self, segments: Segments) -> Any:
        raise AssertionError("nobody asked for its columns")


def test_a_family_that_stays_for_something_else_is_not_asked_for_columns() -> None:
    one, other = _Needy(("a", "b*[")), _Silent(("c",))
    features = FeatureSet(({"kind": "one"}, {"kind": "other"}), (one, other))
    kept = features.keeping({"b*["}, complete={1})
    assert kept.names == ["b*["] and len(kept.extractors) == 2
    assert kept.extract(texts(3, 0)).shape == (3, 1)
    assert len(features.keeping({"b*["}).extractors) == 1
