"""Annotation keys of word-level quality: equal where tags and their neighbourhood are, and only there."""

import numpy as np

from features import Segments, Tokenizer
from features.text.annotation import block_of
from features.word_level.keys import annotation_keys
from features.word_level.lookups import given_links

BOTH = frozenset(("annotation_source", "annotation_target"))


def segments() -> Segments:
    """`la casa` and `una mesa` have the same tags over other words; `casa la` has them in another order."""

    def tagged(text: str) -> str:
        tags = {
            "la": "DET",
            "una": "DET",
            "casa": "NOUN",
            "mesa": "NOUN",
            "house": "NOUN",
            "the": "DET",
            "a": "DET",
        }
        tags["table"] = "NOUN"
        return block_of([(w, "_" if w == "mesa" else w[:3], tags[w], tags[w].lower()) for w in text.split()])

    sources, targets = ("the house", "a table", "the house"), ("la casa", "una mesa", "casa la")
    return Segments(
        sources, targets, Tokenizer("en", "whitespace"), Tokenizer("es", "whitespace"),
        alignment=("0-0 1-1", "0-0 1-1", "0-1 1-0"),
        annotation_source=tuple(map(tagged, sources)), annotation_target=tuple(map(tagged, targets)),
    )  # fmt: skip


def test_words_with_the_same_tags_around_share_keys() -> None:
    given = segments()
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
    given = segments()
    words, _ = annotation_keys(given, given_links(given), BOTH)
    lemma = words["lemma_target"]
    assert lemma[1] == lemma[4] and len({*lemma[[0, 1, 2, 3]].tolist()}) == 4


def test_a_side_without_annotation_has_no_keys() -> None:
    given = segments()
    words, gaps = annotation_keys(given, given_links(given), frozenset(("annotation_source",)))
    assert words and not gaps and all(name.endswith(("_source", "_source_around")) for name in words)
    assert annotation_keys(given, given_links(given), frozenset()) == ({}, {})
