"""N-gram frequency and precision against the corpus, by hand; shares sum to one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.ngram_frequency import CorpusPrecision, NgramFrequency
from features.resources.ngrams import NgramCounts, QuartileNgrams
from features.text.tokens import Tokens
from tests import factories
from tests.factories import ENGLISH, segments, tokens


def extractor(source: list[str], target: list[str], **parameters: Any) -> NgramFrequency:
    counts = [NgramCounts.from_tokens(ENGLISH.tokens(side), order=4) for side in (source, target)]
    return NgramFrequency(counts[0], counts[1], **parameters)


TEXT = "a " * 9 + "b b b c c c c c d d e e e e f f f f f f"


def row(e: NgramFrequency, source: str, target: str = "x") -> dict[str, float]:
    return factories.row(e, segments(source, target, (ENGLISH, ENGLISH)))


def test_by_hand() -> None:
    """Counts: a 9, b 3, c 5, e 4, f 6 (cut-offs 4, 5, 6), d 2 (too rare for them); bigrams `a a` 8."""
    cells = row(extractor([TEXT], ["x y"]), "A b c d zz f")  # 9 3 5 2 0 6
    expected = {
        "quartile1_1": 2 / 6,  # b, d
        "quartile2_1": 1 / 6,  # c
        "quartile3_1": 1 / 6,  # f
        "quartile4_1": 1 / 6,  # a
        "unseen_1": 1 / 6,
        "seen_1": 4 / 6,
        "mean_1": 25 / 6,
        "mean_log_1": np.log10([10, 4, 6, 3, 1, 7]).mean(),
        "least_1": 0,
        "unseen_words": 1,
        "unseen_2": 2 / 5,  # `a b`, `b c` and `c d` occur once each
        "least_2": 0,
        "mean_2": 3 / 5,
    }
    for name, value in expected.items():
        assert cells[f"ngrams_source_{name}"] == pytest.approx(value), name


@pytest.mark.parametrize(
    ("known", "seen", "unseen"), [(1, 5 / 6, 1 / 6), (3, 4 / 6, 2 / 6), (None, 4 / 6, 1 / 6)]
)
def test_seen_and_unseen_by_one_rule(known: int | None, seen: float, unseen: float) -> None:
    """d occurs twice: seen from one occurrence on, unseen below three; as QuEst counts, neither."""
    cells = row(extractor([TEXT], ["x y"], seen_count=known), "A b c d zz f")
    assert cells["ngrams_source_seen_1"] == pytest.approx(seen)
    assert cells["ngrams_source_unseen_1"] == pytest.approx(unseen)
    assert cells["ngrams_source_quartile1_1"] == pytest.approx(2 / 6)  # cut-offs stay


def test_cutoffs_of_a_corpus_without_frequent_types_are_undefined() -> None:
    cells = row(extractor(["a b c"], ["x"]), "a b", "x")
    assert np.isnan(cells["ngrams_source_quartile1_1"]) and cells["ngrams_source_mean_1"] == 1
    cells = row(extractor(["a b c"], ["x"], minimum=1), "a b", "x")
    assert cells["ngrams_source_quartile1_1"] == 1


word = st.sampled_from("abcde")


@pytest.mark.slow
@settings(max_examples=30)
@given(
    corpus=st.lists(st.lists(word, min_size=5, max_size=30), min_size=3, max_size=6),
    text=st.lists(word, min_size=4, max_size=12),
)
def test_shares_sum_to_one(corpus: list[list[str]], text: list[str]) -> None:
    counts = NgramCounts.from_tokens(Tokens.from_lists(corpus), order=4)
    e = NgramFrequency(counts, counts, minimum=1)
    cells = row(e, " ".join(text), " ".join(text))
    for order in (1, 2, 3, 4):
        parts = [*(f"quartile{q}" for q in (1, 2, 3, 4)), "unseen"]
        total = sum(cells[f"ngrams_target_{part}_{order}"] for part in parts)
        assert total == pytest.approx(1)


def counts(*lines: str) -> NgramCounts:
    return NgramCounts.from_tokens(tokens(*lines), order=4)


def quarter(*lines: str) -> QuartileNgrams:
    return QuartileNgrams.from_tokens(tokens(*lines), order=4)


def test_corpus_precision_by_hand() -> None:
    whole = counts("a b c d e", "x"), counts("p q r")
    made = CorpusPrecision(*whole, quarter("a b"), quarter("p"), quarter("x"), quarter("z"))
    cells = factories.row(made, segments("a b c x a", "P q"), prefix="corpus_precision_")
    # 5 of 5 words; a b, b c of 4 bigrams; a b c of 3 trigrams; none of 2; one added from bigrams on
    assert cells["source_all"] == pytest.approx((1 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert cells["source_best"] == pytest.approx((3 / 5 * 2 / 5 * 1 / 4 * 1 / 3) ** 0.25)
    assert cells["source_worst"] == pytest.approx((1 / 5 * 1 / 5 * 1 / 4 * 1 / 3) ** 0.25)
    assert cells["target_all"] == pytest.approx(1.0)  # two words: no trigrams, no case
    assert cells["target_best"] == pytest.approx((1 / 2 * 1 / 2) ** 0.5)
    assert cells["target_worst"] == 0
