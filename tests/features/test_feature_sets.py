"""Feature sets as data: every one loads, keeps what its paper lists, and gives honest columns."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.core.bundle import build
from features.core.feature_set import EXTRACTORS, FeatureSet, expand, parts_needed, set_content, set_names
from qe.getting_started.catalogue.features import describe
from qe.getting_started.demo.generation import generate
from tests.features.test_extractor_contract import LABELLED, PAIRS, TOKENIZERS, World

# What the papers count. PRHLT-UPV's 475 cannot be told apart into this set's part and the decoder's.
PUBLISHED = {
    "baseline17": 17,
    "dcu-constrained": 70,
    "limsi31": 31,
    "loria66": 66,
    "sdllw-blackbox": 42,
    "soricut-narsale": 12,
    "vilar": 12,
    "tcd45": 45,
    "uu-explicit99": 99,
    "wlv-shallow77": 77,
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("sets") / "data"
    return World(folder, generate(folder, pairs=PAIRS, train=LABELLED, test=10, new=10))


@pytest.fixture(scope="module")
def made(world: World) -> Callable[[str], FeatureSet]:
    """Feature sets on one small bundle, which grows as they need parts."""

    def read() -> ParallelCorpus:
        return ParallelCorpus.read(world.data.corpus_source, world.data.corpus_target, *TOKENIZERS)

    @cache
    def make(name: str) -> FeatureSet:
        bundle = build(read, world.folder / "bundle", parts_needed([{"set": name}]))
        return FeatureSet.make([{"set": name}], bundle)

    return make


@pytest.mark.parametrize("name", set_names())
def test_a_set_says_what_it_is(name: str) -> None:
    outcome = set_content(name)
    assert set(outcome) == {"description", "origin", "absent", "features"}
    assert outcome["description"] and outcome["origin"]
    assert all(isinstance(entry, str) and entry for entry in outcome["absent"])
    assert {config["kind"] for config in expand([{"set": name}])} <= set(EXTRACTORS.names)


@pytest.mark.slow
@pytest.mark.parametrize("name", set_names())
def test_no_pattern_is_idle(name: str, made: Callable[[str], FeatureSet]) -> None:
    """Without any one pattern, columns are missing: none repeats another."""
    chosen = made(name)
    for config, extractor in zip(chosen.configs, chosen.extractors, strict=True):
        patterns = config.get("only", [])
        for left_out in patterns if len(patterns) > 1 else []:
            rest = [p for p in patterns if p != left_out]
            fewer = FeatureSet(({**config, "only": rest},), (extractor,))
            whole = FeatureSet((config,), (extractor,))
            assert len(fewer.names) < len(whole.names), (config["kind"], left_out)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_columns_make_the_published_number(name: str, made: Callable[[str], FeatureSet]) -> None:
    """An entry of `absent` that begins with a number stands for so many features."""
    numbers = [re.match(r"(\d+) ", entry) for entry in set_content(name)["absent"]]
    absent = sum(int(number[1]) if number else 1 for number in numbers)
    assert len(made(name).names) + absent == PUBLISHED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(set_names()) - {"all-blackbox"}))
def test_sets_give_defined_columns(name: str, made: Callable[[str], FeatureSet], world: World) -> None:
    """On translations with second translations alone: finite or NaN, defined somewhere, the kept columns."""
    chosen, segments = made(name), world.segments.take(range(24))
    wanted = ("id", "source", "target", "pseudo_reference", "back_translation")
    segments = Segments.from_columns({c: v for c, v in segments.columns() if c in wanted}, *TOKENIZERS)
    extractors = [
        e.fit(world.segments, {name: world.labels[name] for name in e.labels_used()})
        if e in chosen.fitted
        else e
        for e in chosen.extractors
    ]
    table = FeatureSet(chosen.configs, tuple(extractors)).extract(segments)
    assert list(table.columns) == chosen.names
    assert table.index.tolist() == list(segments.id)
    assert not np.isinf(table.to_numpy()).any()
    undefined = table.columns[table.isna().all()]
    # Undefined without annotations.
    assert [c for c in undefined if not c.startswith("alignment_agreement")] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dcu-constrained", "sdllw-blackbox", "tcd45"])
def test_the_catalogue_describes_the_columns_of_a_set(name: str, made: Callable[[str], FeatureSet]) -> None:
    """Parameters, patterns, and families named after their resources."""
    subject, entries = describe(name)
    assert entries == made(name).features
    assert subject.name == name
