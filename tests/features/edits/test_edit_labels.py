"""Edit alignment, labels, word order: sentences by hand, TER's own counts, the definitions."""

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.edits.edit_labels import (
    EDITS,
    EditLabels,
    edit_labels,
    reversed_alignment,
    ter_alignment,
    word_order,
)
from features.edits.ter import ter
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
    both = labels_of(target, "x/x/noun a/a/particle ir/ir/verb y/y/noun").partners
    assert both.tolist() == [0, 1, 2, -1, 3]
    several = labels_of("x/x/noun ir/ir/verb y/y/noun", target).post_edit_partners
    assert several.tolist() == [0, -1, 1, -1, 2]


def test_a_changed_part_of_speech_needs_two_known_ones() -> None:
    assert names(labels_of("a/a/noun", "b/b/verb")) == (["pos_changed"], ["pos_changed"])
    assert names(labels_of("a/a/noun", "b/b/noun")) == (["word_changed"], ["word_changed"])
    assert names(labels_of("a/a/noun", "b/b")) == (["word_changed"], ["word_changed"])


def test_of_equal_words_the_closest_is_the_partner() -> None:
    labels = labels_of("a/a ,/, b/b x/x", "y/y a/a b/b ,/, x/x")
    assert labels.partners.tolist() == [1, 3, 2, 4]
    assert labels_of("de/de a/a b/b c/c d/d", "a/a de/de b/b c/c de/de d/d").partners[0] == 1


text = st.lists(st.sampled_from(["a", "b", "c", "d", "e1", "e2", "f1", "f2", "f3"]), max_size=12)


def labelled(pairs: list[tuple[list[str], list[str]]]) -> EditLabels:
    def layer(of_word: Callable[[str], str]) -> Any:
        sides = zip(*pairs, strict=True)
        return tuple(Tokens.from_lists([[of_word(w) for w in text] for text in side]) for side in sides)

    words, tags = layer(str), layer(lambda word: "NOUN" if word < "d" else "VERB")
    classes = tuple(word_class_tokens(w, t) for w, t in zip(words, tags, strict=True))
    return edit_labels(words, layer(lambda word: word[0]), classes)


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
        rest = [Counter(w[0] for w in (Counter(side) - common).elements()) for side in (left, right)]
        lemmas = rest[0] & rest[1]
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


words = st.lists(st.sampled_from("abcdef"), max_size=14)


@settings(deadline=None)  # kernels compile on their first call
@given(words, words)
def test_it_accounts_for_every_edit(left: list[str], right: list[str]) -> None:
    hypothesis, reference = Tokens.from_lists([left]), Tokens.from_lists([right])
    alignment, edits = ter_alignment(hypothesis, reference), ter(hypothesis, reference)
    aligned = alignment.aligned.tolist()
    goals = [i for i in aligned if i >= 0]
    assert len(set(goals)) == len(goals)
    assert aligned.count(-1) == edits.insertions[0]
    assert len(right) - len(goals) == edits.deletions[0]
    wrong = sum(left[j] != right[i] for j, i in enumerate(aligned) if i >= 0)
    assert wrong == edits.substitutions[0]
    assert sorted(alignment.places.tolist()) == list(range(len(left)))
    in_order = [aligned[j] for j in np.argsort(alignment.places) if aligned[j] >= 0]
    assert in_order == sorted(in_order)  # after the shifts, nothing crosses


def test_texts_of_a_batch_do_not_touch() -> None:
    left = Tokens.from_lists([["a", "b"], [], ["c"], ["b", "a", "x"]])
    right = Tokens.from_lists([["b"], ["a"], [], ["b", "a", "x"]])
    assert ter_alignment(left, right).aligned.tolist() == [-1, 0, -1, 0, 1, 2]
    assert ter_alignment(left, right).places.tolist() == [0, 1, 0, 0, 1, 2]


alignments = st.integers(0, 9).flatmap(
    lambda n: st.tuples(st.permutations(range(n)), st.lists(st.booleans(), min_size=n, max_size=n))
)


def by_definition(partners: list[int]) -> tuple[list[int], list[int]]:
    """Distances and group sizes of one text, word by word, from the definition alone."""
    left = [j for j, i in enumerate(partners) if i >= 0]
    right = sorted(i for i in partners if i >= 0)
    place = {j: (left.index(j), right.index(partners[j])) for j in left}
    distances, sizes = [0] * len(partners), [0] * len(partners)
    for j in left:
        here, there = place[j]
        distances[j] = abs(here - there)
        if here != there:
            together = {j}
            for step in (-1, 1):
                k = here + step
                while 0 <= k < len(left) and place[left[k]][1] - there == k - here:
                    together.add(left[k])
                    k += step
            sizes[j] = len(together)
    return distances, sizes


def order_of(*texts: list[int]) -> tuple[list[int], list[int]]:
    offsets = np.cumsum([0, *map(len, texts)])
    order = word_order(np.array(list(chain(*texts)), np.int32), offsets)
    return order.distances.tolist(), order.group_sizes.tolist()


@pytest.mark.slow
@settings(deadline=None)  # kernels compile on their first call
@given(st.lists(alignments, min_size=1, max_size=4))
def test_equal_to_the_definition(batch: list[tuple[list[int], list[bool]]]) -> None:
    texts = [[i if there else -1 for i, there in zip(*text, strict=True)] for text in batch]
    expected = [by_definition(text) for text in texts]
    assert order_of(*texts) == tuple(list(chain(*columns)) for columns in zip(*expected, strict=True))
