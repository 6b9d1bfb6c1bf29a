"""Feature sets as data: every one loads, keeps what its paper lists, and gives honest columns."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.core.bundle import Bundle, build
from features.core.feature_set import EXTRACTORS, FeatureSet, expand, parts_needed, set_content, set_names
from qe.getting_started.catalogue.features import describe
from qe.getting_started.demo.generation import DemoData, generate
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
NEEDS_POS = ("alignment_agreement",)  # undefined without annotations, which the demo lacks


def absent(name: str) -> int:
    """How many features a set's `absent` names: an entry that begins with a number stands for so many."""
    numbers = (re.match(r"(\d+) ", entry) for entry in set_content(name)["absent"])
    return sum(int(each[1]) if each else 1 for each in numbers)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoData:
    folder = tmp_path_factory.mktemp("sets") / "data"
    return generate(folder, pairs=PAIRS, train=LABELLED, test=10, new=10)


@pytest.fixture(scope="module")
def world(demo: DemoData) -> World:
    return World(demo.corpus_source.parent, demo)


@pytest.fixture(scope="module")
def made(world: World) -> Callable[[str], FeatureSet]:
    """Feature sets on one small bundle, which grows as they need parts."""

    def bundle(name: str) -> Bundle:
        def read() -> ParallelCorpus:
            return ParallelCorpus.read(world.data.corpus_source, world.data.corpus_target, *TOKENIZERS)

        return build(read, world.folder / "bundle", parts_needed([{"set": name}]))

    sets: dict[str, FeatureSet] = {}

    def make(name: str) -> FeatureSet:
        if name not in sets:
            sets[name] = FeatureSet.make([{"set": name}], bundle(name))
        return sets[name]

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
    assert len(made(name).names) + absent(name) == PUBLISHED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(set_names()) - {"all-blackbox"}))
def test_sets_give_defined_columns(name: str, made: Callable[[str], FeatureSet], world: World) -> None:
    """On ordinary translations: finite or NaN, defined somewhere, only the kept columns."""
    chosen, segments = made(name), plain(world)
    table = fitted(chosen, world).extract(segments)
    assert list(table.columns) == chosen.names
    assert table.index.tolist() == list(segments.id)
    assert not np.isinf(table.to_numpy()).any()
    undefined = [c for c in table.columns[table.isna().all()] if not c.startswith(NEEDS_POS)]
    assert undefined == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dcu-constrained", "sdllw-blackbox", "tcd45"])
def test_the_catalogue_describes_the_columns_of_a_set(name: str, made: Callable[[str], FeatureSet]) -> None:
    """Parameters, patterns, and families named after their resources."""
    subject, entries = describe(name)
    assert entries == made(name).features
    assert subject.name == name


def plain(world: World) -> Segments:
    """24 segments with second translations and nothing else beside the text."""
    segments = world.segments.take(range(24))
    wanted = ("id", "source", "target", "pseudo_reference", "back_translation")
    return Segments.from_columns({c: v for c, v in segments.columns() if c in wanted}, *TOKENIZERS)


def fitted(chosen: FeatureSet, world: World) -> FeatureSet:
    """The set, its label-learning families fitted on the demo's labels."""
    extractors = [
        e.fit(world.segments, {name: world.labels[name] for name in e.labels_used()})
        if e in chosen.fitted
        else e
        for e in chosen.extractors
    ]
    return FeatureSet(chosen.configs, tuple(extractors))
