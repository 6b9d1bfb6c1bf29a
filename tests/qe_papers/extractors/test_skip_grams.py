"""Skip-grams found in the corpus: equal to the definition worked out skip-gram by skip-gram."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.core.segments import Segments
from features.text.tokens import Tokens
from qe_papers.extractors.corpus_matches import SkipGrams
from qe_papers.extractors.similarity import Similarity
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


def test_pairs_of_words_are_those_of_similarity() -> None:
    """Bigrams have no word to leave out between them."""
    segments = Segments(("a b x c d", "x"), ("c d e a", "b"), PLAIN, PLAIN)
    pairs = extractor(patterns=["11"], boundaries=[True]).extract(segments)
    similar = Similarity(
        DOCUMENTS, DOCUMENTS, (), matching_orders=(2,), boundaries=(True,), weightings=("one",)
    )
    np.testing.assert_allclose(pairs, similar.extract(segments))


@pytest.mark.parametrize("pattern", ["", "10", "01", "1a1", "0"])
def test_what_is_no_pattern(pattern: str) -> None:
    refuses("is no pattern of skip-grams", extractor, patterns=[pattern])
