"""Skip-grams found in the corpus: equal to the definition worked out skip-gram by skip-gram."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.core.segments import Segments
from features.text.tokens import Tokens
from qe_papers.extractors.similarity import Similarity
from qe_papers.extractors.skip_grams import SkipGrams
from qe_papers.resources.ngram_documents import NgramDocuments
from tests.factories import PLAIN, refuses

CORPUS = [line.split() for line in ("a b c d", "a b a b", "c d e", "a", "b c d e f")]
DOCUMENTS = NgramDocuments.from_tokens(Tokens.from_lists(CORPUS), order=4)
PENALTY = 0.5
Gapped = tuple[str | None, ...]  # None: a word left out


def extractor(**parameters: Any) -> SkipGrams:
    return SkipGrams(DOCUMENTS, DOCUMENTS, **parameters)


def values(text: Sequence[str], **parameters: Any) -> dict[str, float]:
    made = extractor(**parameters)
    row = made.extract(Segments(("a c x", "x"), ("b", " ".join(text)), PLAIN, PLAIN))[1]
    return {
        name.removeprefix("skip_grams_target_"): value
        for name, value in zip(made.names, row, strict=True)
        if name.startswith("skip_grams_target_")
    }


def padded(words: Sequence[str], marks: int) -> list[str]:
    return ["<"] * marks + list(words) + [">"] * marks


def in_corpus(gapped: Gapped) -> bool:
    n = len(gapped)
    return any(
        all(kept in (None, text[i + j]) for j, kept in enumerate(gapped))
        for text in (padded(words, 3) for words in CORPUS)
        for i in range(len(text) - n + 1)
    )


def trimmed(gapped: list[str | None]) -> Gapped:
    while gapped[0] is None:
        gapped = gapped[1:]
    while gapped[-1] is None:
        gapped = gapped[:-1]
    return tuple(gapped)


def value(gapped: Gapped) -> float:
    if in_corpus(gapped):
        return 1.0
    kept = [place for place, word in enumerate(gapped) if word is not None]
    if len(kept) == 1:
        return 0.0
    less = [trimmed([None if i == j else word for i, word in enumerate(gapped)]) for j in kept]
    return PENALTY * sum(map(value, less)) / len(less)


def expected(words: Sequence[str], pattern: str, boundaries: bool) -> float:
    text = padded(words, len(pattern) - 1 if boundaries else 0)
    found = [
        value(tuple(text[i + j] if mark == "1" else None for j, mark in enumerate(pattern)))
        for i in range(len(text) - len(pattern) + 1)
    ]
    return sum(found) / len(found) if words and found else float("nan")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.sampled_from("abcdefx"), max_size=7))
def test_equal_to_the_definition(words: list[str]) -> None:
    found = values(words)
    assert len(found) == 12
    for pattern in ("101", "1001", "1011", "1101", "111", "1111"):
        for boundaries in (False, True):
            name = pattern + ("_boundary" if boundaries else "")
            assert found[name] == pytest.approx(expected(words, pattern, boundaries), nan_ok=True), name


def test_by_hand() -> None:
    """`a _ c` and `c _ e` are in the corpus; of `b _ f` the two words, half of 1."""
    found = values(["a", "x", "c", "x", "e"], patterns=["101"], boundaries=[False])
    assert found["101"] == (1 + 0 + 1) / 3  # and `x _ x`, of which neither word is there
    assert values(["b", "x", "f"], patterns=["101"], boundaries=[False])["101"] == PENALTY
    # `a x c`: neither `a x` (a alone) nor `x c` (c alone), but `a _ c`
    combined = values(["a", "x", "c"], patterns=["111"], boundaries=[False])["111"]
    assert combined == pytest.approx(PENALTY * (PENALTY / 2 + PENALTY / 2 + 1) / 3)


def test_a_segment_without_skip_grams_is_not_a_number() -> None:
    found = values(["a", "b"], patterns=["101"])
    assert np.isnan(found["101"]) and found["101_boundary"] == expected(["a", "b"], "101", True)
    assert np.isnan(list(values([]).values())).all()


def test_pairs_of_words_are_those_of_similarity() -> None:
    """Bigrams have no word to leave out between them."""
    segments = Segments(("a b x c d", "x"), ("c d e a", "b"), PLAIN, PLAIN)
    pairs = extractor(patterns=["11"], boundaries=[True]).extract(segments)
    similar = Similarity(
        DOCUMENTS, DOCUMENTS, (), matching_orders=(2,), boundaries=(True,), weightings=("one",)
    )
    np.testing.assert_allclose(pairs, similar.extract(segments))


def test_columns_say_what_they_are() -> None:
    feature = extractor(patterns=["1001"], boundaries=[True]).features[1]
    assert feature.name == "skip_grams_target_1001_boundary" and feature.unit == "share"
    assert "1001" in feature.description and feature.origin.endswith("section 2.1.2")


@pytest.mark.parametrize("pattern", ["", "10", "01", "1a1", "0"])
def test_what_is_no_pattern(pattern: str) -> None:
    refuses("is no pattern of skip-grams", extractor, patterns=[pattern])


def test_a_pattern_longer_than_the_corpus_was_counted() -> None:
    refuses("order 5 were not counted", extractor, patterns=["10001"])
