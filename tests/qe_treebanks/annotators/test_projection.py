"""Entities over word links: by hand, and by the annotator that learns from what was written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.basics.errors import InputError
from features.text.annotation import spans
from features.text.links import Links
from features.text.tokens import Tokens
from qe_treebanks.annotators.entities import read_entities
from qe_treebanks.treebanks import Projected, projected, write_projected
from tests.factories import refuses


def test_a_word_without_links_inside_an_entity_belongs_to_it() -> None:
    """`Banco de España` for `Bank of Spain`, where `of` has no link."""
    assert projected(4, ["B-ORG", "I-ORG", "I-ORG", "O"], [(0, 0), (2, 2), (3, 3)]) == [
        "B-ORG", "I-ORG", "I-ORG", "O",
    ]  # fmt: skip


def test_an_entity_without_links_or_with_a_stranger_inside_has_no_place() -> None:
    assert projected(2, ["B-PER", "O"], [(0, 1)]) is None
    assert projected(3, ["B-PER", "I-PER", "O"], [(0, 0), (2, 1), (1, 2)]) is None


tags = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), min_size=1, max_size=8)


@given(tags)
def test_links_one_to_one_in_order_are_a_copy(given_tags: list[str]) -> None:
    made = projected(len(given_tags), given_tags, [(i, i) for i in range(len(given_tags))])
    assert made is not None and spans(made) == spans(given_tags)


def test_what_is_written_is_read_as_a_treebank(tmp_path: Path) -> None:
    words = Tokens.from_lists([["Ana", "sees", "Rome"], ["Bob", "left"], []])
    tags_of = Tokens.from_lists([["B-PER", "O", "B-LOC"], ["B-PER", "O"], ["O"]])
    links = Links.from_pharaoh(["0-0 1-1 2-2", "1-1", ""])
    assert write_projected(tmp_path / "en.conll", words, tags_of, links) == Projected(1, 2, 2)
    (sentence,) = read_entities([tmp_path / "en.conll"])
    assert (sentence.words, sentence.tags) == (["Ana", "sees", "Rome"], ["B-PER", "O", "B-LOC"])


def test_mistakes_are_one_message(tmp_path: Path) -> None:
    words, tags_of = Tokens.from_lists([["Bob", "left"]]), Tokens.from_lists([["B-PER", "O"]])
    with pytest.raises(InputError, match="no sentence has a place"):
        write_projected(tmp_path / "none", words, tags_of, Links.from_pharaoh(["1-1"]))
    refuses("links", write_projected, tmp_path / "none", words, tags_of, Links.from_pharaoh(["0-5"]))
    assert not (tmp_path / "none").exists()
