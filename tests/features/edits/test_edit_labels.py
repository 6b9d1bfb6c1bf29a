"""Edit alignment and labels: sentences labelled by hand as the paper says, and laws that must hold."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.edits.edit_labels import EDITS, EditLabels, edit_labels, reversed_alignment
from features.text.annotation import UNKNOWN, word_class_tokens
from features.text.tokens import Tokens

# word/lemma/class of a side; the class may be left out.
Sides = tuple[Tokens, Tokens]


def sides(*texts: str) -> tuple[Sides, Sides, Sides]:
    parts = [[(*token.split("/"), UNKNOWN)[:3] for token in text.split()] for text in texts]
    layers = [[Tokens.from_lists([[token[k] for token in side]]) for side in parts] for k in range(3)]
    return tuple((left, right) for left, right in layers)  # type: ignore[return-value]


def labels_of(target: str, post_edit: str) -> EditLabels:
    return edit_labels(*sides(target, post_edit))


def names(labels: EditLabels) -> tuple[list[str], list[str]]:
    return [EDITS[i] for i in labels.target], [EDITS[i] for i in labels.post_edit]


def test_every_label_in_one_sentence() -> None:
    labels = labels_of(
        "Eso/ese/pronoun ha/haber/verb dicho/decir/verb la/el/article viejo/viejo/adjective casa/casa/noun",
        "lo/lo/pronoun dijo/decir/verb la/el/article casa/casa/noun vieja/viejo/adjective hoy/hoy/adverb",
    )
    assert names(labels) == (
        ["word_changed", "deleted", "form_changed", "match", "form_changed", "match"],
        ["word_changed", "form_changed", "match", "match", "form_changed", "inserted"],
    )
    assert labels.partners.tolist() == [0, -1, 1, 2, 4, 3]
    assert labels.target_order.distances.tolist() == [0, 0, 0, 0, 1, 1]
    assert labels.post_edit_order.distances.tolist() == [0, 0, 0, 1, 1, 0]


def test_one_word_for_several_is_paired_within_its_class_or_else_with_the_first() -> None:
    """Section 3: "a match was made between words of the same POS ..., or the first word in the sequence"."""
    target = "x/x/noun de/de/adposition pagar/pagar/verb caro/caro/adverb y/y/noun"
    assert labels_of(target, "x/x/noun comprar/comprar/verb y/y/noun").partners.tolist() == [0, -1, 1, -1, 2]
    assert labels_of(target, "x/x/noun rojo/rojo/adjective y/y/noun").partners.tolist() == [0, 1, -1, -1, 2]
    assert labels_of(target, "x/x/noun a/a/particle ir/ir/verb y/y/noun").partners.tolist() == [
        0,
        1,
        2,
        -1,
        3,
    ]
    several = labels_of("x/x/noun ir/ir/verb y/y/noun", target).post_edit_partners
    assert several.tolist() == [0, -1, 1, -1, 2]


def test_a_changed_part_of_speech_needs_two_known_ones() -> None:
    assert names(labels_of("a/a/noun", "b/b/verb")) == (["pos_changed"], ["pos_changed"])
    assert names(labels_of("a/a/noun", "b/b/noun")) == (["word_changed"], ["word_changed"])
    assert names(labels_of("a/a/noun", "b/b")) == (["word_changed"], ["word_changed"])


def test_of_equal_words_the_closest_is_the_partner() -> None:
    labels = labels_of("a/a , /, b/b x/x".replace(" , /,", " ,/,"), "y/y a/a b/b ,/, x/x")
    assert labels.partners.tolist() == [1, 3, 2, 4]
    assert labels_of("de/de a/a b/b c/c d/d", "a/a de/de b/b c/c de/de d/d").partners[0] == 1


word = st.sampled_from(["a", "b", "c", "d", "e1", "e2", "f1", "f2", "f3"])
text = st.lists(word, max_size=12)


def labelled(pairs: list[tuple[list[str], list[str]]]) -> EditLabels:
    words = tuple(Tokens.from_lists(side) for side in zip(*pairs, strict=True))
    lemmas = tuple(Tokens.from_lists([[w[0] for w in t] for t in side]) for side in zip(*pairs, strict=True))
    tags = tuple(
        Tokens.from_lists([["NOUN" if w < "d" else "VERB" for w in t] for t in side])
        for side in zip(*pairs, strict=True)
    )
    classes = tuple(word_class_tokens(w, t) for w, t in zip(words, tags, strict=True))
    return edit_labels(words, lemmas, classes)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(deadline=None)  # kernels compile on their first call
@given(st.lists(st.tuples(text, text), min_size=1, max_size=4))
def test_laws(pairs: list[tuple[list[str], list[str]]]) -> None:
    """Equal words are paired as often as both sides have them, then equal lemmas among the rest."""
    labels = labelled(pairs)
    for k, (left, right) in enumerate(pairs):
        target = labels.target[labels.target_offsets[k] : labels.target_offsets[k + 1]]
        edited = labels.post_edit[labels.post_edit_offsets[k] : labels.post_edit_offsets[k + 1]]
        partners = labels.partners[labels.target_offsets[k] : labels.target_offsets[k + 1]]
        common = Counter(left) & Counter(right)
        lemmas = (Counter(w[0] for w in (Counter(left) - common).elements())) & (
            Counter(w[0] for w in (Counter(right) - common).elements())
        )
        count = Counter(EDITS[i] for i in target)
        assert count["match"] == common.total() and count["form_changed"] == lemmas.total()
        assert Counter(EDITS[i] for i in edited) - Counter(inserted=99) == count - Counter(deleted=99)
        for j, i in enumerate(partners.tolist()):
            if i >= 0:
                assert edited[i] == target[j]
                assert (EDITS[target[j]] == "match") == (left[j] == right[i])
                assert (EDITS[target[j]] == "pos_changed") <= ((left[j] < "d") != (right[i] < "d"))
        alone = labelled([pairs[k]])
        assert alone.partners.tolist() == partners.tolist()
        assert (alone.post_edit == edited).all()
        if left == right:
            assert partners.tolist() == list(range(len(left)))


@pytest.mark.slow
@settings(deadline=None)  # kernels compile on their first call
@given(text, text)
def test_the_alignment_turned_twice_is_itself(left: list[str], right: list[str]) -> None:
    labels = labelled([(left, right)])
    ends = labels.post_edit_offsets, labels.target_offsets
    again = reversed_alignment(labels.post_edit_partners, *ends)
    np.testing.assert_array_equal(again, labels.partners)
    moved = labels.post_edit_order.distances[labels.post_edit_partners >= 0]
    assert sorted(moved) == sorted(labels.target_order.distances[labels.partners >= 0])


def test_case_is_a_form() -> None:
    assert names(labels_of("La/el casa/casa", "la/el casa/casa"))[0] == ["form_changed", "match"]
    assert names(labels_of("Bajo/bajo", "bajo/bajar"))[0] == ["form_changed"]
    assert names(labels_of("Casas/CASA", "casa/casa"))[0] == ["form_changed"]
