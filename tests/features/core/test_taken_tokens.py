"""Texts taken from a batch: the same words; when few are taken, no types of the texts left behind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.text.tokens import Tokens

texts = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=12)


@pytest.mark.slow
@given(texts, st.data())
def test_the_words_stay(lists: list[list[str]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=15)) if lists else []
    taken = Tokens.from_lists(lists).take(np.array(rows, np.int64))
    taken.check_arrays()
    assert [taken.words(i) for i in range(len(taken))] == [lists[i] for i in rows]
    assert len(set(taken.types)) == len(taken.types)


@pytest.mark.parametrize(("rows", "types"), [([1], ("c", "d")), ([0, 1], ("a", "b", "c", "d")), ([], ())])
def test_types_of_few_texts(rows: list[int], types: tuple[str, ...]) -> None:
    tokens = Tokens.from_lists([["a", "b", "a"], ["c", "d"]])
    assert tokens.take(np.array(rows, np.int64)).types == types
