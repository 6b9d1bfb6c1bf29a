"""Perturbations: each changes what it names, and the same row always in the same way."""

import unicodedata

import pytest

from features import Segments, Tokenizer
from qe.data.perturbation import EFFECTS, PERTURBATIONS, names, perturbed, words

SOURCES = (
    "The old house had 12 windows.",
    "They did not see the mayor, he said.",
    "A very long walk through the wood ended at the river near London.",
    "Why?",
)
TARGETS = (
    'La casa antigua tenía 12 "ventanas".',
    "No vieron al alcalde, dijo él.",
    "Un paseo muy largo por el bosque terminó en el río cerca de Londres.",
    "¿Por qué?",
)
BATCH = Segments(SOURCES, TARGETS, Tokenizer("en"), Tokenizer("es"), id=("a", "b", "c", "d"))


@pytest.mark.parametrize("name", names())
def test_a_row_is_changed_alike_for_the_same_seed(name: str) -> None:
    first, rows = perturbed(BATCH, name, seed=3)
    again, same = perturbed(BATCH, name, seed=3)
    assert (first.source, first.target, rows.tolist()) == (again.source, again.target, same.tolist())
    assert first.id == tuple(BATCH.id[i] for i in rows)
    changed = zip(first.target, first.source, rows.tolist(), strict=True)
    if name != "unicode_nfd":  # Segments composes letters again, as every reader of text here
        assert all((t, s) != (TARGETS[i], SOURCES[i]) for t, s, i in changed)
    assert PERTURBATIONS[name].effect in EFFECTS


@pytest.mark.parametrize(
    "name", sorted(set(names()) - {"other_segment", "one_word_repeated", "third_replaced"})
)
def test_the_rows_beside_it_do_not_matter(name: str) -> None:
    whole, rows = perturbed(BATCH, name, seed=1)
    alone = {i: perturbed(BATCH.take([i]), name, seed=1)[0].target for i in range(len(BATCH))}
    assert {i: (t,) for i, t in zip(rows.tolist(), whole.target, strict=True)} == {
        i: t for i, t in alone.items() if t
    }


def test_each_does_what_it_says() -> None:
    def result(name: str, row: int) -> str:
        changed, rows = perturbed(BATCH, name)
        return changed.target[rows.tolist().index(row)]

    assert result("copy_of_source", 0) == SOURCES[0]
    assert result("three_times", 3) == " ".join([TARGETS[3]] * 3)
    assert result("tail_repeated", 1).split()[-5:] == TARGETS[1].split()[-5:]
    assert len(result("tail_repeated", 1).split()) == len(TARGETS[1].split()) + 50
    assert len(result("half_dropped", 2).split()) == (len(TARGETS[2].split()) + 1) // 2
    assert (
        sorted(result("shuffled", 2).split()) == sorted(TARGETS[2].split()) != result("shuffled", 2).split()
    )
    kept = sum(a == b for a, b in zip(result("third_replaced", 2).split(), TARGETS[2].split(), strict=True))
    assert len(TARGETS[2].split()) - kept <= 5
    assert result("other_segment", 0) in TARGETS[1:]
    assert len(set(result("one_word_repeated", 2).split())) == 1
    assert not any(map(str.isalnum, result("punctuation_only", 0) + result("emoji_only", 0)))
    assert not any(map(str.isalpha, result("digits_only", 2)))
    assert len(result("marks_appended", 0)) >= len(TARGETS[0]) + 20
    assert result("mojibake", 2) != TARGETS[2]
    changed = sum(a != b for a, b in zip(result("number_changed", 0), TARGETS[0], strict=True))
    assert changed == 1 and result("number_changed", 0)[:10] == TARGETS[0][:10]
    assert result("negation_dropped", 1) == "vieron al alcalde, dijo él."
    assert result("name_replaced", 2) != TARGETS[2] and "Londres" not in result("name_replaced", 2)
    assert result("upper_case", 1) == TARGETS[1].upper() and "<b>" in result("html_tags", 2)


def test_harmless_ones_keep_the_words() -> None:
    for name in names("harmless"):
        changed, rows = perturbed(BATCH, name)
        for text, i in zip(changed.target, rows.tolist(), strict=True):
            same = unicodedata.normalize("NFC", text)
            assert Tokenizer("es").split(same) == Tokenizer("es").split(TARGETS[i])


def test_swapped_sides() -> None:
    changed, rows = perturbed(BATCH, "swapped")
    assert changed.source == TARGETS and changed.target == SOURCES and rows.tolist() == [0, 1, 2, 3]


def test_scripts_without_blanks_have_characters() -> None:
    assert words("今天天气很好") == list("今天天气很好")
    chinese = Segments(("a b c",) * 2, ("今天天气很好。", "他没有来。"), Tokenizer("en"), Tokenizer("zh"))
    shuffled, _ = perturbed(chinese, "shuffled")
    assert sorted(shuffled.target[0]) == sorted(chinese.target[0]) and " " not in shuffled.target[0]
