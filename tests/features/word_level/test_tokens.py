"""Token tables and texts of the training segments: counts one by one, pieces, keys."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import Bundle, Segments, Tokenizer
from features.core.bundle import build
from features.core.feature_set import make_extractor, parts_needed
from features.storage.damage import Damaged
from features.text.annotation import block_of
from features.word_level import tokens as module
from features.word_level.keys import annotation_keys, places, triple_keys
from features.word_level.lookups import given_links
from features.word_level.tokens import TokenTable, describe
from features.word_level.training_text import PARTS, ContextCounts, TrainingText, part_of, with_text
from tests.factories import TOKENIZERS, corpus, paired, refuses

ROWS = [("the red cat", "el rojo gato", "el gato rojo"), ("a house", "una casa", "una casa")] * PARTS


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    pairs = [("the red house", "la casa roja"), ("a cat", "un gato"), ("the cat sleeps", "el gato duerme")]
    parts = parts_needed([{"kind": "word_quality"}])
    return build(lambda: corpus(pairs * 60, TOKENIZERS), tmp_path_factory.mktemp("bundle"), parts)


def word_quality(bundle: Bundle, **settings: object) -> Any:
    return make_extractor({"kind": "word_quality", **settings}, bundle)


def looked_up(bundle: Bundle, rows: Sequence[tuple[str, str, str]], *, own: bool) -> TokenTable:
    knowledge, batch = word_quality(bundle), paired(rows, TOKENIZERS)
    labels = {"post_edit": [row[2] for row in rows]}
    text = TrainingText.fit(batch, labels, ["post_edit"], knowledge.aligner)
    return with_text(describe(batch, knowledge, frozenset()), text, is_training=own)


def column(table: TokenTable, name: str) -> np.ndarray:
    return table.words[:, table.word_names.index(name)]


@pytest.mark.slow
def test_a_word_has_its_share_among_those_that_follow_its_left_neighbour(bundle: Bundle) -> None:
    """`el` is followed by `gato` in all of 8 post-edits: 8 / (8 + 1); by `rojo` in none."""
    table = looked_up(bundle, ROWS, own=False)
    share, margin = column(table, "text_before_share"), column(table, "text_before_margin")
    np.testing.assert_allclose(share[:3], [8 / 17, 0, 0], rtol=1e-6)  # el begins 8 of 16 texts
    np.testing.assert_allclose(margin[:3], [0, 8 / 9, 0], rtol=1e-6)
    np.testing.assert_allclose(column(table, "text_before_times")[1], np.log1p(8), rtol=1e-6)


@pytest.mark.slow
def test_a_training_segment_is_not_looked_up_in_its_own_text(bundle: Bundle) -> None:
    """A post-edit that no other segment shares says nothing of its own segment."""
    rows = [*ROWS[:-1], ("the wolf", "xyz abc", "xyz abc")]
    for own, expected in ((True, 0.0), (False, 0.5)):
        table = looked_up(bundle, rows, own=own)
        np.testing.assert_allclose(column(table, "text_before_share")[-1], expected)


def test_references_of_tokenised_segments_are_tokenised(bundle: Bundle) -> None:
    plain = word_quality(bundle)
    whitespace = replace(paired(ROWS, TOKENIZERS), target_tokenizer=Tokenizer("es", "whitespace"))
    text = TrainingText.fit(
        whitespace, {"reference": ["una casa."] * len(ROWS)}, ["reference"], plain.aligner
    )
    assert text.counts["before"].times[:, 0].sum() == 3 * len(ROWS)


@pytest.mark.slow
def test_gaps_know_what_stands_between_their_words(bundle: Bundle) -> None:
    rows = [("the red house", "la roja", "la casa roja")] * PARTS
    table = looked_up(bundle, rows, own=False)
    gap = dict(zip(table.gap_names, table.gaps[1], strict=True))
    assert gap["text_adjacent"] == 0
    np.testing.assert_allclose(gap["text_apart"], np.log1p(PARTS), rtol=1e-6)
    np.testing.assert_allclose(gap["text_between"], PARTS / (PARTS + 1), rtol=1e-6)


@pytest.mark.slow
def test_a_fitted_extractor_scores_alike_after_saving(bundle: Bundle, tmp_path: Path) -> None:
    batch = paired(ROWS, TOKENIZERS)
    texts = {name: [row[2] for row in ROWS] for name in ("post_edit", "reference")}
    fitted = word_quality(bundle, texts=["post_edit", "reference"], rounds=3).fit(batch, texts)
    fitted.save(tmp_path)
    again = word_quality(bundle, texts=["post_edit", "reference"], rounds=3).restore(tmp_path)
    np.testing.assert_array_equal(again.extract(batch), fitted.extract(batch))


def described(bundle: Bundle, batch: Segments) -> TokenTable:
    return describe(batch, word_quality(bundle), frozenset())


@pytest.mark.slow
def test_pieces_make_the_same_table(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*ROWS, ("the cat", "", ""), *ROWS[::-1], ("", "gato", "gato")]
    whole = described(bundle, paired(rows, TOKENIZERS))
    monkeypatch.setattr(module, "_LEAST", 3)
    pieces = described(bundle, paired(rows, TOKENIZERS))
    assert pieces.word_names == whole.word_names and pieces.gap_names == whole.gap_names
    for name in ("words", "gaps", "word_rows", "gap_rows", "offsets"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name), err_msg=name)
    for one, other in ((pieces.word_keys, whole.word_keys), (pieces.gap_keys, whole.gap_keys)):
        assert one.keys() == other.keys()
        for name, keys in one.items():
            np.testing.assert_array_equal(keys, other[name], err_msg=name)


@pytest.mark.slow
def test_triples_tell_apart_what_pairs_do_not(bundle: Bundle) -> None:
    """`casa` between `la` and `roja`, and `la` and `blanca`; equal texts have equal keys."""
    texts = ["la casa roja", "la casa blanca", "la casa roja"]
    table = described(bundle, paired([("the red house", text, "") for text in texts], TOKENIZERS))
    keys = triple_keys(table.word_keys, table.offsets)
    middle = np.array([1, 4, 7])
    assert len(set(table.word_keys["bigram"][middle].tolist())) == 1
    assert keys["around"][middle[0]] == keys["around"][middle[2]] != keys["around"][middle[1]]
    assert keys["two_after"][[0, 3]].tolist() != keys["two_after"][[0, 6]].tolist()
    assert keys["two_after"][0] == keys["two_after"][6] != keys["two_after"][3]


def world() -> tuple[np.ndarray, np.ndarray, np.ndarray, ContextCounts]:
    """(contexts, words, parts, counts) of tokens; few contexts and words, so that they meet again."""
    contexts, words = np.random.default_rng(3).integers(0, 12, (2, 400)).astype(np.uint64)
    part = part_of(np.arange(400) // 10, 40)
    return contexts, words, part, ContextCounts.fit(contexts, words, part)


def by_hand(
    contexts: np.ndarray, words: np.ndarray, context: int, word: int, without: np.ndarray
) -> tuple[float, float, float]:
    seen = Counter(
        int(w) for c, w, out in zip(contexts, words, without, strict=True) if c == context and not out
    )
    times, most = sum(seen.values()), max(seen.values(), default=0)
    return np.log1p(times), seen[word] / (times + 1), (most - seen[word]) / (times + 1)


def test_columns_of_new_text_are_counts_of_all() -> None:
    contexts, words, _, counts = world()
    nobody = np.zeros(len(words), bool)
    asked = [(0, 3), (5, 11), (11, 0), (99, 1), (4, 99)]
    got = counts.columns(*np.array(asked, np.uint64).T)
    expected = [by_hand(contexts, words, *pair, nobody) for pair in asked]
    np.testing.assert_allclose(got, expected)


def test_a_training_segment_is_looked_up_in_the_other_parts() -> None:
    contexts, words, part, counts = world()
    got = counts.columns(contexts, words, part)
    expected = [
        by_hand(contexts, words, int(c), int(w), part == p)
        for c, w, p in zip(contexts, words, part, strict=True)
    ]
    np.testing.assert_allclose(got, expected)


def test_what_is_saved_says_the_same_and_damage_is_seen(tmp_path: Path) -> None:
    contexts, words, _, counts = world()
    counts.save(tmp_path / "counts")
    loaded = ContextCounts.load(tmp_path / "counts")
    np.testing.assert_array_equal(loaded.columns(contexts, words), counts.columns(contexts, words))
    np.save(tmp_path / "counts" / "occurrences.npy", np.zeros((1, 1), np.int32))
    refuses("occurrences", ContextCounts.load, tmp_path / "counts", error=Damaged)


LARGEST = 2**64 - 1
near = st.integers(0, 40) | st.integers(LARGEST - 40, LARGEST) | st.integers(2**63 - 20, 2**63 + 20)
keys = st.lists(near | st.integers(0, LARGEST), max_size=60)


@pytest.mark.slow
@settings(max_examples=300)
@given(keys, keys)
def test_crowded_and_spread_keys_are_found(known: list[int], others: list[int]) -> None:
    ascending = np.unique(np.array(known, np.uint64))
    wanted = np.array([*known, *others], np.uint64)
    place, there = places(ascending, wanted)
    by_key = {key: place for place, key in enumerate(ascending.tolist())}
    assert place.tolist() == [by_key.get(key, 0) for key in wanted.tolist()]
    assert there.tolist() == [key in by_key for key in wanted.tolist()]


BOTH = frozenset(("annotation_source", "annotation_target"))


def annotation_keys_segments() -> Segments:
    """`la casa` and `una mesa` have the same tags over other words; `casa la` has them in another order."""

    def tagged(text: str) -> str:
        nouns = ("casa", "mesa", "house", "table")
        tags = {word: "NOUN" if word in nouns else "DET" for word in ("la", "una", "the", "a", *nouns)}
        return block_of([(w, "_" if w == "mesa" else w[:3], tags[w], tags[w].lower()) for w in text.split()])

    sources, targets = ("the house", "a table", "the house"), ("la casa", "una mesa", "casa la")
    return Segments(
        sources, targets, Tokenizer("en", "whitespace"), Tokenizer("es", "whitespace"),
        alignment=("0-0 1-1", "0-0 1-1", "0-1 1-0"),
        annotation_source=tuple(map(tagged, sources)), annotation_target=tuple(map(tagged, targets)),
    )  # fmt: skip


def test_words_with_the_same_tags_around_share_keys() -> None:
    given = annotation_keys_segments()
    words, gaps = annotation_keys(given, given_links(given), BOTH)
    upos = words["upos_target"]
    np.testing.assert_array_equal(upos[[0, 1]], upos[[2, 3]])
    assert upos[0] == upos[5] != upos[4]  # la, also where it stands last
    around = words["upos_around"]
    assert around[0] == around[2] and around[1] == around[3] and around[0] != around[5]
    pair = words["upos_pair"]  # linked words have the same tags in all three
    assert pair[0] == pair[2] == pair[5] and pair[1] == pair[3] == pair[4]
    both = gaps["upos_both"].reshape(3, 3)
    np.testing.assert_array_equal(both[0], both[1])
    assert both[0, 1] != both[2, 1]


def test_a_word_without_base_form_is_its_own() -> None:
    given = annotation_keys_segments()
    words, _ = annotation_keys(given, given_links(given), BOTH)
    lemma = words["lemma_target"]
    assert lemma[1] == lemma[4] and len({*lemma[[0, 1, 2, 3]].tolist()}) == 4


def test_a_side_without_annotation_has_no_keys() -> None:
    given = annotation_keys_segments()
    words, gaps = annotation_keys(given, given_links(given), frozenset(("annotation_source",)))
    assert words and not gaps and all(name.endswith(("_source", "_source_around")) for name in words)
    assert annotation_keys(given, given_links(given), frozenset()) == ({}, {})
