"""Entities by type and side, by hand."""

import pytest

from qe_papers.extractors.entities import Entities
from tests.factories import EN_ES, refuses, row, segments


def block(tags: dict[str, str]) -> str:
    return "\n".join(
        f"{k}\t{word}" + "\t_" * 7 + f"\tNER={tag}" for k, (word, tag) in enumerate(tags.items(), start=1)
    )


SOURCE = {
    "Ana": "B-PERSON", "saw": "O", "New": "B-GPE", "York": "I-GPE", "and": "O", "the": "O", "UN": "B-ORG",
}  # fmt: skip
TARGET = {
    "Ana": "B-PER", "vio": "O", "new": "B-LOC", "york": "I-LOC", "y": "O", "la": "O", "ONU": "B-MISC",
    "o": "O", "Oslo": "B-LOC",
}  # fmt: skip


def values_by_name() -> dict[str, float]:
    blocks = {"annotation_source": block(SOURCE), "annotation_target": block(TARGET)}
    return row(Entities(), segments(" ".join(SOURCE), " ".join(TARGET), EN_ES, **blocks))


def test_by_hand() -> None:
    values = values_by_name()
    expected = {"person": (1, 1), "organisation": (1, 0), "location": (1, 2), "other": (0, 1), "all": (3, 4)}
    for kind, (source, target) in expected.items():
        assert (values[f"entities_{kind}_source"], values[f"entities_{kind}_target"]) == (source, target), (
            kind
        )
        assert values[f"entities_{kind}_difference"] == source - target
    assert values["entities_source_word_for_word"] == pytest.approx(2 / 3)
    assert values["entities_target_word_for_word"] == pytest.approx(2 / 4)
    assert values["entities_shared_types"] == pytest.approx(2 / 4)


def test_several_of_a_type_are_as_one() -> None:
    """Table 2 of UEdin's paper counts segments so. The target has two places, the source no other."""
    values = values_by_name()
    expected = {"person": (1, 1), "organisation": (1, 0), "location": (1, 1), "other": (0, 1)}
    for kind, (source, target) in expected.items():
        has = values[f"entities_has_{kind}_source"], values[f"entities_has_{kind}_target"]
        assert has == (source, target), kind
    assert not any("has" in name and "difference" in name for name in values)


def test_words_without_tags_are_one_message() -> None:
    given = segments("a", "b", EN_ES, annotation_target="1\tb" + "\t_" * 8)
    message = "has no entity tag; annotate with an annotator of entities"
    refuses(message, Entities(sides="target").extract, given)
