"""N-gram counts against a dictionary, and QuEst's cut-offs against its own file."""

import gzip
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.resources.ngrams import NgramCounts, quartiles
from features.text.tokens import Tokens
from tests.factories import Find, refuses

texts = st.lists(st.lists(st.sampled_from(["a", "b", "c", "<s>"]), max_size=8), min_size=1, max_size=8)


def ngrams_of(text: list[str], order: int) -> list[tuple[str, ...]]:
    return [tuple(text[i : i + order]) for i in range(len(text) - order + 1)]


@pytest.mark.slow
@settings(max_examples=60)
@given(corpus=texts, looked_up=texts, order=st.integers(1, 4))
def test_counts_equal_a_dictionary(corpus: list[list[str]], looked_up: list[list[str]], order: int) -> None:
    expected = Counter(n for text in corpus for n in ngrams_of(text, order) if "<s>" not in n)
    counts = NgramCounts.from_tokens(Tokens.from_lists(corpus), order=4)
    known = [[word for word in text if word != "<s>"] for text in looked_up]
    counted, offsets = counts.counts(Tokens.from_lists(known), order)
    for both in zip(
        counts.counts_by_order(Tokens.from_lists(known), order)[-1], (counted, offsets), strict=True
    ):
        np.testing.assert_array_equal(*both)
    for text, begin, end in zip(known, offsets[:-1], offsets[1:], strict=True):
        assert counted[begin:end].tolist() == [expected[n] for n in ngrams_of(text, order)]


def test_case_is_folded_unless_true_case_is_asked_for() -> None:
    text = Tokens.from_lists([["The", "the", "THE"]])
    assert NgramCounts.from_tokens(text, order=1).counts(text, 1)[0].tolist() == [3, 3, 3]
    assert NgramCounts.from_tokens(text, order=1, case="true").counts(text, 1)[0].tolist() == [1, 1, 1]


def test_quartile_cutoffs_take_frequent_types_only() -> None:
    text = [["a"] * 9 + ["b"] * 3 + ["c"] * 5 + ["d"] * 2 + ["e"] * 4 + ["f"] * 6]
    counts = NgramCounts.from_tokens(Tokens.from_lists(text), order=1)
    assert counts.quartile_cutoffs(1) == (4, 5, 6)  # of 3 4 5 6 9
    assert counts.quartile_cutoffs(1, minimum=1) == (3, 4, 5)  # of 2 3 4 5 6 9


def test_quartiles_equal_those_that_quest_wrote_for_its_counts(shared_data: Find) -> None:
    """The head of the file gives the cut-offs QuEst computed from the counts that follow."""
    path = shared_data("golden/questpp/english_ngram.ngram.clean.gz")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        lines = stream.read().split("\n")
    header = [[int(x) for x in line.split("\t")[1:4]] for line in lines[:3]]
    by_order: dict[int, list[int]] = {1: [], 2: [], 3: []}
    for line in lines[3:]:
        ngram, _, count = line.rpartition("\t")
        if ngram:
            by_order[ngram.count(" ") + 1].append(int(count))
    assert [list(quartiles(np.array(by_order[order]))) for order in (1, 2, 3)] == header


@pytest.mark.parametrize("order", [0, 4, -1])
def test_orders_that_were_not_counted_are_refused(order: int) -> None:
    counts = NgramCounts.from_tokens(Tokens.from_lists([["a"]]), order=3)
    refuses("orders 1 to 3", counts.counts, Tokens.from_lists([["a"]]), order)


def test_bad_settings_are_refused() -> None:
    text = Tokens.from_lists([["a"]])
    refuses("order", NgramCounts.from_tokens, text, order=0)
    refuses("case", NgramCounts.from_tokens, text, order=1, case="upper")
    refuses("frequent enough", NgramCounts.from_tokens(text, order=1).quartile_cutoffs, 1)
