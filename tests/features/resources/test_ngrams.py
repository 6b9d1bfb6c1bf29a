"""N-gram tables and counts against numpy's sort, a dictionary and QuEst's own file."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from features.basics import threads
from features.resources.lexicon import Lexicon
from features.resources.ngrams import NgramCounts, QuartileNgrams, literalness, quartiles
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus
from features.text.ngram_tables import Ints, Offsets, ngram_tables, with_markers
from features.text.tokens import BOS, EOS, Tokens
from tests.factories import Find

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
    last = counts.counts_by_order(Tokens.from_lists(known), order)[-1]
    for both in zip(last, (counted, offsets), strict=True):
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
    lines = list(read_lines(shared_data("golden/questpp/english_ngram.ngram.clean.gz")))
    header = [[int(x) for x in line.split("\t")[1:4]] for line in lines[:3]]
    by_order: dict[int, list[int]] = {1: [], 2: [], 3: []}
    for line in lines[3:]:
        ngram, _, count = line.rpartition("\t")
        if ngram:
            by_order[ngram.count(" ") + 1].append(int(count))
    assert [list(quartiles(np.array(by_order[order]))) for order in (1, 2, 3)] == header


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


@pytest.mark.slow
def test_tables_equal_a_sort_of_all_ngrams(text: tuple[Ints, Offsets]) -> None:
    """Numbers are ranks among the distinct n-grams, which `np.unique` gives; of order 1, word ids."""
    tables = list(ngram_tables(*text, VOCABULARY, 4))
    np.testing.assert_array_equal(tables[0].counts, np.bincount(text[0], minlength=VOCABULARY))
    for order, table in enumerate(tables[1:], start=2):
        distinct, counts = np.unique(ngram_codes(*text, order), return_counts=True)
        lower = np.unique(ngram_codes(*text, order - 1)) if order > 2 else np.arange(VOCABULARY)
        np.testing.assert_array_equal(table.words, distinct % VOCABULARY)
        np.testing.assert_array_equal(table.counts, counts)
        contexts = np.repeat(np.arange(len(lower)), np.diff(table.first))
        np.testing.assert_array_equal(lower[contexts], distinct // VOCABULARY)
        np.testing.assert_array_equal(lower[table.suffix], distinct % VOCABULARY ** (order - 1))
    assert len(tables) == 4


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


PAIRS = [
    *[("red house", "casa roja"), ("red car", "coche rojo"), ("house", "casa"), ("car", "coche")] * 3,
    *[("the free one", "zig zag zog"), ("what it is", "una cosa rara"), ("so be it", "vale pues nada")],
    ("never mind", "otra vez dijo"),
]  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(PAIRS)


def test_quarters_by_how_literally_pairs_translate(corpus: ParallelCorpus) -> None:
    lexicon = Lexicon.build(corpus, direction="source_to_target")
    scores = literalness(corpus, lexicon)
    ranked = np.argsort(-scores, kind="stable")
    for quarter, rows in (("best", ranked[:4]), ("worst", ranked[-4:])):
        made = QuartileNgrams.build(
            corpus, side="target", quarter=quarter, order=2, lexicon_source_to_target=lexicon
        )  # type: ignore[arg-type]
        chosen = [PAIRS[i][1].split() for i in rows]
        counts, _ = made.counts(Tokens.from_lists(chosen), 1)
        assert made.total(1) == sum(map(len, chosen)) and counts.min() >= 1
        assert made.settings["quarter"] == quarter and made.settings["lexicon"] == lexicon.fingerprint
    assert scores[0] > scores[-1]


def test_a_sample_spreads_over_the_corpus(corpus: ParallelCorpus) -> None:
    lexicon = Lexicon.build(corpus, direction="source_to_target")
    made = QuartileNgrams.build(
        corpus, side="source", quarter="worst", order=1, lexicon_source_to_target=lexicon, sample=2
    )
    assert made.total(1) == 2  # of the first pair and the last, the last
