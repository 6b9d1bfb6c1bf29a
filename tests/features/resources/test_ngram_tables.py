"""N-gram tables against numpy's sort of all n-grams: large groups, ranges of first words on several cores."""

import numpy as np
import pytest
from numpy.typing import NDArray

from features.basics import threads
from features.text.ngram_tables import Ints, Offsets, OrderTable, ngram_tables, with_markers
from features.text.tokens import BOS, EOS

VOCABULARY = 5_000


@pytest.fixture(scope="module")
def text() -> tuple[Ints, Offsets]:
    """300,000 tokens by Zipf's law, the most frequent word tens of thousands of times; some texts empty."""
    random = np.random.default_rng(0)
    ids = np.minimum(random.zipf(1.3, 300_000) + 2, VOCABULARY - 1).astype(np.int32)
    ends = np.sort(random.integers(0, len(ids) + 1, 20_000))
    return ids, np.concatenate(([0], ends, [len(ids)])).astype(np.int64)


def ngram_codes(ids: Ints, offsets: Offsets, order: int) -> NDArray[np.int64]:
    """Every n-gram within a text as one number, in the order of n-grams."""
    inside = np.repeat(offsets[1:], np.diff(offsets)) - np.arange(len(ids)) >= order
    starts = np.flatnonzero(inside)
    codes = np.zeros(len(starts), np.int64)
    for k in range(order):
        codes = codes * VOCABULARY + ids[starts + k]
    return codes


def check_against_sort(table: OrderTable, ids: Ints, offsets: Offsets, order: int) -> None:
    """Numbers are ranks among the distinct n-grams, which `np.unique` gives; of order 1, word ids."""
    distinct, counts = np.unique(ngram_codes(ids, offsets, order), return_counts=True)
    lower = np.unique(ngram_codes(ids, offsets, order - 1)) if order > 2 else np.arange(VOCABULARY)
    np.testing.assert_array_equal(table.words, distinct % VOCABULARY)
    np.testing.assert_array_equal(table.counts, counts)
    contexts = np.repeat(np.arange(len(lower)), np.diff(table.first))
    np.testing.assert_array_equal(lower[contexts], distinct // VOCABULARY)
    np.testing.assert_array_equal(lower[table.suffix], distinct % VOCABULARY ** (order - 1))


@pytest.mark.slow
def test_tables_equal_a_sort_of_all_ngrams(text: tuple[Ints, Offsets]) -> None:
    tables = list(ngram_tables(*text, VOCABULARY, 4))
    np.testing.assert_array_equal(tables[0].counts, np.bincount(text[0], minlength=VOCABULARY))
    for order in (2, 3, 4):
        check_against_sort(tables[order - 1], *text, order)


def test_tables_do_not_depend_on_cores(text: tuple[Ints, Offsets], monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []
    for cores in (1, 3):
        monkeypatch.setattr(threads, "cores", lambda cores=cores: cores)
        listed.append(list(ngram_tables(*text, VOCABULARY, 4)))
    for one, other in zip(*listed, strict=True):
        for name in ("words", "first", "counts", "suffix"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_markers_surround_every_text_in_either_direction() -> None:
    ids, offsets = np.array([5, 6, 7], np.int32), np.array([0, 2, 2, 3])
    forward, ends = with_markers(ids, offsets)
    assert forward.tolist() == [BOS, 5, 6, EOS, BOS, EOS, BOS, 7, EOS]
    assert ends.tolist() == [0, 4, 6, 9]
    backward, _ = with_markers(ids, offsets, backward=True)
    assert backward.tolist() == [BOS, 6, 5, EOS, BOS, EOS, BOS, 7, EOS]
