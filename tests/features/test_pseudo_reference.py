"""Comparison with a second translation: against sacrebleu, hand counts and what must hold of any pair."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from features.core.segments import Segments
from features.second_translation import PseudoReference
from tests.factories import PLAIN


def values(targets: Sequence[str], others: Sequence[str]) -> list[dict[str, float]]:
    columns = {"source": ["x"] * len(targets), "target": targets, "pseudo_reference": others}
    extractor = PseudoReference()
    rows = extractor.extract(Segments.from_columns(columns, PLAIN, PLAIN))
    names = [name.removeprefix("pseudo_reference_") for name in extractor.names]
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_by_hand() -> None:
    features = values(["la Casa roja es roja ."], ["la casa es roja"])[0]
    assert features["precision_1"] == 4 / 6  # the second `roja` and the full stop are too many
    assert features["precision_2"] == 2 / 5 and features["recall_2"] == 2 / 3  # la casa, es roja
    assert features["precision_3"] == features["recall_4"] == 0
    assert features["words_only_in_text"] == 2 and features["words_only_in_other"] == 0
    assert features["word_edits"] == 2 and features["word_distance"] == 2 / 6
    assert features["length_ratio"] == 1.5
    assert features["character_edits"] == 7 and features["character_distance"] == 7 / 22
    assert features["ter"] == 2 / 4
    precisions = [4 / 6, 3 / 6, 1 / 5, 1 / 4]  # one added from bigrams on
    assert features["bleu"] == pytest.approx(np.prod(precisions) ** 0.25)


def test_brevity_penalty_by_hand() -> None:
    """4 words against 6: exp(1 - 6/4); a longer text has none. The old column stays as it was."""
    columns = {"source": ["x"] * 3, "target": ["a b c d", "a b c d e", ""]}
    columns["pseudo_reference"] = ["a b c d e f", "a b", "a"]
    extractor = PseudoReference(brevity_penalty=True)
    rows = extractor.extract(Segments.from_columns(columns, PLAIN, PLAIN))
    assert extractor.names == (*PseudoReference().names, "pseudo_reference_bleu_penalised")
    assert rows[0, [0, -1]] == pytest.approx([1.0, np.exp(-0.5)])
    assert rows[1, 0] == rows[1, -1] == pytest.approx((2 / 5 * 2 / 5 * 1 / 4 * 1 / 3) ** 0.25)
    assert np.isnan(rows[2]).all()


def test_word_error_rate_is_of_the_second_text_s_words() -> None:
    """Like sacreBLEU's TER without shifts: 2 of 4 words, 3 of 1; `word_distance` stays at most 1."""
    columns = {"source": ["x"] * 3, "target": ["a b c d e f", "a b c", ""]}
    columns["pseudo_reference"] = ["a b c d", "x", "a"]
    extractor = PseudoReference(word_error_rate=True)
    rows = extractor.extract(Segments.from_columns(columns, PLAIN, PLAIN))
    assert extractor.names == (*PseudoReference().names, "pseudo_reference_word_error_rate")
    assert rows[:2, -1].tolist() == [2 / 4, 3 / 1] and np.isnan(rows[2]).all()


PAIRS = [
    ("this week the saudis denied information published in the times",
     "saudi arabia denied this week information published in the american times"),
    ("a b c d e f", "d e f a b c"),
    ("el gato", "el gato negro duerme en la casa de la abuela"),
    ("uno dos tres", "cuatro cinco"),
    ("niño corazón", "nino corazon"),
    ("x", "x"),
    ("a a a a", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "other"), PAIRS)
def test_equal_to_sacrebleu(text: str, other: str) -> None:
    features = values([text], [other])[0]
    assert 100 * features["chrf"] == pytest.approx(CHRF().sentence_score(text, [other]).score, abs=1e-9)
    assert 100 * features["ter"] == pytest.approx(TER().sentence_score(text, [other]).score, abs=1e-9)


texts = st.lists(st.sampled_from("abc"), min_size=1, max_size=9).map(" ".join)


@pytest.mark.slow
@given(texts, texts)
def test_laws(left: str, right: str) -> None:
    forward, backward, same = values([left, right, left], [right, left, left])
    for n in range(1, 5):
        np.testing.assert_equal(forward[f"precision_{n}"], backward[f"recall_{n}"])
    assert forward["words_only_in_text"] == backward["words_only_in_other"]
    assert forward["word_edits"] == backward["word_edits"]
    assert forward["character_edits"] == backward["character_edits"]
    assert 0 <= forward["word_distance"] <= 1 and 0 <= forward["bleu"] <= 1
    assert forward["ter"] * len(right.split()) <= forward["word_edits"]  # shifts only save edits
    assert same["bleu"] == same["chrf"] == same["length_ratio"] == 1
    assert same["ter"] == same["word_edits"] == same["character_distance"] == 0
