"""TER's alignment: it must account for the edits that TER counts, and find what was shifted."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from features.edits.edit_labels import ter_alignment
from features.edits.ter import ter
from features.text.tokens import Tokens

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
