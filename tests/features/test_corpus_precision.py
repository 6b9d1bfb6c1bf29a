"""N-gram precision against the corpus and its quarters (SDLLW LF4-LF9)."""

import numpy as np
import pytest

from features import Segments
from features.ngram_frequency import CorpusPrecision
from features.resources.ngrams import NgramCounts, QuartileNgrams
from features.text.tokens import Tokens
from tests.factories import PLAIN, segments


def counts(*lines: str) -> NgramCounts:
    return NgramCounts.from_tokens(Tokens.from_lists([line.split() for line in lines]), order=4)


def quarter(*lines: str) -> QuartileNgrams:
    return QuartileNgrams.from_tokens(Tokens.from_lists([line.split() for line in lines]), order=4)


@pytest.fixture
def extractor() -> CorpusPrecision:
    return CorpusPrecision(
        counts("a b c d e", "x"), counts("p q r"), quarter("a b"), quarter("p"), quarter("x"), quarter("z")
    )


def test_by_hand(extractor: CorpusPrecision) -> None:
    values = extractor.extract(segments("a b c x a", "P q"))[0]
    row = dict(zip(extractor.names, values, strict=True))
    # 5 of 5 words; a b, b c of 4 bigrams; a b c of 3 trigrams; none of 2; one added from bigrams on
    assert row["corpus_precision_source_all"] == pytest.approx((1 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert row["corpus_precision_source_best"] == pytest.approx((3 / 5 * 2 / 5 * 1 / 4 * 1 / 3) ** 0.25)
    assert row["corpus_precision_source_worst"] == pytest.approx((1 / 5 * 1 / 5 * 1 / 4 * 1 / 3) ** 0.25)
    assert row["corpus_precision_target_all"] == pytest.approx(1.0)  # two words: no trigrams, no case
    assert row["corpus_precision_target_best"] == pytest.approx((1 / 2 * 1 / 2) ** 0.5)
    assert row["corpus_precision_target_worst"] == 0


def test_undefined_without_words(extractor: CorpusPrecision) -> None:
    values = extractor.extract(Segments(("", "a"), ("p", ""), PLAIN, PLAIN))
    assert np.isnan(values[0, :3]).all() and not np.isnan(values[0, 3:]).any()
    assert np.isnan(values[1, 3:]).all()
