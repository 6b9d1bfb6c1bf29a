"""Edit categories counted by hand, and sums that must agree."""

import numpy as np
import pytest

from features.edits.edit_labels import CATEGORIES, WORD_CLASSES, EditCounts, edit_counts, edit_labels
from tests.qe_human.effort.conftest import Annotated, Training


def counted(annotated: Annotated, target: list[str], post_edit: list[str]) -> EditCounts:
    left, right = annotated(target), annotated(post_edit)
    labels = edit_labels(*((getattr(left, x), getattr(right, x)) for x in ("words", "lemmas", "classes")))
    return edit_counts(labels, (left.classes, right.classes))


def cell(counts: EditCounts, row: int, word_class: str, category: str) -> int:
    return int(counts.counts[row, WORD_CLASSES.index(word_class), CATEGORIES.index(category)])


def test_by_hand(annotated: Annotated) -> None:
    counts = counted(
        annotated,
        ["ha/haber/AUX dicho/decir/VERB el/el/DET viejo/viejo/ADJ casa/casa/NOUN", "a"],
        ["dijo/decir/VERB la/el/DET casa/casa/NOUN vieja/viejo/ADJ hoy/hoy/ADV !/!/PUNCT", ""],
    )
    expected = {
        ("verb", "deleted"): 1, ("verb", "form_changed"): 1, ("determiner", "form_changed"): 1,
        ("noun", "match"): 1, ("adjective", "form_changed"): 1, ("other", "inserted"): 1,
        ("punctuation", "inserted"): 1, ("noun", "moved_alone"): 1, ("adjective", "moved_alone"): 1,
        ("noun", "distance_1"): 1, ("adjective", "distance_1"): 1, ("verb", "order_same"): 1,
        ("determiner", "order_same"): 1,
    }  # fmt: skip
    for word_class in WORD_CLASSES:
        for category in CATEGORIES:
            assert cell(counts, 0, word_class, category) == expected.get((word_class, category), 0)
    assert cell(counts, 1, "other", "deleted") == 1
    assert counts.post_edit.tolist() == [6, 0]
    table = counts.table()
    row = table.iloc[0]
    assert row["tokens"] == 6 and row["match"] == pytest.approx(1 / 7)
    assert row["order_same"] == row["distance_1"] == 1 / 2
    assert row["verb deleted"] == 1 / 2 and row["verb order_same"] == 1
    assert np.isnan(row["other order_same"]) and row["other inserted"] == 1
    assert np.isnan(table.iloc[1]["order_same"]) and table.iloc[1]["deleted"] == 1
    assert np.isnan(table.iloc[1]["noun match"])


def test_every_word_of_the_training_set_counts_once(training: Training) -> None:
    sides = training.sides
    labels = edit_labels(
        *((getattr(sides[0], x), getattr(sides[1], x)) for x in ("words", "lemmas", "classes"))
    )
    counts = edit_counts(labels, (sides[0].classes, sides[1].classes)).counts.sum(axis=1)
    edits = dict(zip(CATEGORIES, counts.T, strict=True))
    pairs = edits["match"] + edits["form_changed"] + edits["word_changed"] + edits["pos_changed"]
    np.testing.assert_array_equal(pairs + edits["inserted"], sides[1].words.lengths)
    np.testing.assert_array_equal(pairs + edits["deleted"], sides[0].words.lengths)
    np.testing.assert_array_equal(pairs, edits["order_same"] + edits["moved_group"] + edits["moved_alone"])
    np.testing.assert_array_equal(
        pairs, edits["order_same"] + edits["distance_1"] + edits["distance_2_or_more"]
    )
