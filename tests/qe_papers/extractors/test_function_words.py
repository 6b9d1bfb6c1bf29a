"""Shares of listed words, counted by hand."""

import numpy as np
import pytest

from features.resources.word_lexicon import StopWords
from qe_papers.extractors.word_classes import FunctionWords
from tests.factories import segments


def listed(*words: str) -> StopWords:
    return StopWords(words, settings={"side": "source"}, corpus_fingerprint="")


def shares(source: str, target: str) -> list[float]:
    extractor = FunctionWords(listed("of", "the"), listed("de", "la"))
    values: list[float] = extractor.extract(segments(source, target))[0].tolist()
    return values


def test_by_hand() -> None:
    """The, of, the of five; La of three: each side has its own list, and case does not count."""
    assert shares("The end of the day", "La the end") == pytest.approx([3 / 5, 1 / 3])


def test_a_text_without_tokens_has_no_share() -> None:
    source, target = shares("", "la")
    assert np.isnan(source) and target == 1
