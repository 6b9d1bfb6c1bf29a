"""What is remembered of described segments: shared by families, in order, forgotten with its resources."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Segments
from features.core.bundle import Bundle, build
from features.core.feature_set import from_variant, make_extractor, parts_needed
from features.word_level import tokens as tokens_module
from features.word_level.knowledge import Knowing
from features.word_level.tokens import TokenMemory, TokenTable, forget_tables, remembered
from tests import factories
from tests.factories import EN_ES, corpus, paired

pytestmark = pytest.mark.slow

PAIRS = [("the house", "la casa"), ("a green house", "una casa verde"), ("the dog", "el perro")] * 20
TEXTS = [("the house", "la casa"), ("a dog", "un perro verde"), ("", ""), ("green", "la la"), ("a", "x")]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    parts = parts_needed([{"kind": "word_quality"}, {"kind": "word_network", "knowledge": ["predictor"]}])
    return build(lambda: corpus(PAIRS, EN_ES), tmp_path / "bundle", parts)


@pytest.fixture
def family(bundle: Bundle) -> Any:
    return make_extractor({"kind": "word_quality"}, bundle)


def segments(*rows: int) -> Segments:
    return paired([TEXTS[i] for i in rows], EN_ES)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The targets of every batch that was really described."""
    batches: list[list[str]] = []
    describe = Knowing.described

    def spied(self: Any, some: Segments, use: frozenset[str]) -> TokenTable:
        batches.append(list(some.target))
        return describe(self, some, use)

    monkeypatch.setattr(Knowing, "described", spied)
    return batches


def same(left: TokenTable, right: TokenTable) -> bool:
    keys = all(np.array_equal(left.word_keys[n], right.word_keys[n]) for n in left.word_keys)
    names = ("words", "gaps", "gap_rows", "offsets")
    return keys and all(np.array_equal(getattr(left, n), getattr(right, n), equal_nan=True) for n in names)


def test_segments_come_back_in_the_order_asked_for(family: Any, asked: list[list[str]]) -> None:
    remembered(family, segments(3, 1), frozenset())
    asked.clear()
    mixed = remembered(family, segments(0, 1, 2, 3, 4, 1), frozenset())
    assert asked == [["la casa", "", "x"]]
    assert same(mixed, family.described(segments(0, 1, 2, 3, 4, 1), frozenset()))


def test_families_with_the_same_resources_share_memory(bundle: Bundle, asked: list[list[str]]) -> None:
    quality, network, other = (
        make_extractor(from_variant(name), bundle)
        for name in ("word_quality", "word_network", "word_network:knowledge=predictor")
    )
    one: Any = remembered(quality, segments(0, 1), frozenset())  # type: ignore[arg-type]
    two = remembered(network, segments(0, 1), frozenset())  # type: ignore[arg-type]
    assert asked == [["la casa", "un perro verde"]] and one is two
    more = remembered(other, segments(0, 1), frozenset())  # type: ignore[arg-type]
    assert len(asked) == 2 and len(more.word_names) > len(one.word_names)


def test_other_resources_have_a_memory_of_their_own(tmp_path: Path, asked: list[list[str]]) -> None:
    parts = parts_needed([{"kind": "word_quality"}])
    for name, pairs in (("one", PAIRS), ("other", PAIRS[:-1])):
        bundle = build(lambda pairs=pairs: corpus(pairs, EN_ES), tmp_path / name, parts)
        remembered(make_extractor({"kind": "word_quality"}, bundle), segments(0), frozenset())  # type: ignore[arg-type]
    assert asked == [["la casa"], ["la casa"]]


def test_what_is_read_beside_the_texts_counts(family: Any, asked: list[list[str]]) -> None:
    for translation in ("la casa", "el perro", "la casa"):
        text = factories.segments("the house", "la casa", EN_ES, pseudo_reference=translation)
        remembered(family, text, frozenset({"pseudo_reference"}))
    assert len(asked) == 2


def test_it_is_forgotten_with_its_resources(bundle: Bundle) -> None:
    before = set(tokens_module._memories)
    again = Bundle(bundle.path)
    family: Any = make_extractor({"kind": "word_quality"}, again)
    remembered(family, segments(0, 1), frozenset())
    assert len(set(tokens_module._memories) - before) == 1
    del again, family
    gc.collect()
    assert set(tokens_module._memories) <= before


def test_a_full_memory_forgets_and_goes_on(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "_LIMIT", 4)  # tokens
    own = TokenMemory()

    def table(*rows: int) -> TokenTable:
        return own.table(segments(*rows), frozenset(), lambda some: family.described(some, frozenset()))

    for rows in ((0,), (0, 1), (0, 1, 3), (3, 0), (1, 0)):
        assert same(table(*rows), family.described(segments(*rows), frozenset()))
        assert own._tokens <= 4


def test_two_threads_describe_once(family: Any, asked: list[list[str]]) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: remembered(family, segments(0, 1, 2, 3), frozenset()), range(4)))
    assert len(asked) == 1


def test_it_forgets_when_it_is_told_to(family: Any, asked: list[list[str]]) -> None:
    expected = remembered(family, segments(0, 1), frozenset())
    forget_tables()
    assert not any(one._tables or one._places or one._tokens for one in tokens_module._memories.values())
    assert same(remembered(family, segments(0, 1), frozenset()), expected) and len(asked) == 2


def test_what_another_thread_computes_is_kept(family: Any) -> None:
    own = TokenMemory()

    def compute(some: Segments) -> TokenTable:
        own.forget()  # as another thread's would: while the first computes
        return family.described(some, frozenset())  # type: ignore[no-any-return]

    own.table(segments(0, 1), frozenset(), lambda some: family.described(some, frozenset()))
    own.table(segments(0, 2), frozenset(), compute)
    assert len(own._places) == 3
