"""METEOR and NIST of back-translations, worked by hand with the counts of a small corpus."""

import math
from pathlib import Path

import pytest

from features import Tokenizer
from features.resources.ngrams import NgramCounts
from qe_papers.extractors.inverted_scores import InvertedScores
from tests.factories import PLAIN, refuses, row, segments
from tests.features.text.test_tokens import small_wordnet

# 2,000 tokens: the 1000 times, house 998, barks twice and so no function word.
COUNTS = NgramCounts.from_tokens(PLAIN.tokens(["the house"] * 998 + ["the barks"] * 2), order=5)


def inverted(source: str, back: str, language: str = "en", synonyms: bool = False) -> dict[str, float]:
    tokenizers = Tokenizer(language, kind="whitespace", normalise=False), PLAIN
    text = segments(source, tokenizers=tokenizers, back_translation=back)
    return row(InvertedScores(COUNTS, synonyms), text)


def scores(source: str, back: str, language: str = "en") -> list[float]:
    """METEOR and NIST."""
    return list(inverted(source, back, language).values())


def test_the_source_itself() -> None:
    meteor, nist = scores("The dog barks", "the dog barks")
    assert meteor == pytest.approx(1)
    # the: 2001/1001, dog 2001/1, barks 2001/3; the dog: 1001/1, dog barks: 1/1; the dog barks: 1/1
    unigrams = math.log2(2001 / 1001) + math.log2(2001) + math.log2(2001 / 3)
    assert nist == pytest.approx(unigrams / 3 + math.log2(1001) / 2)


def test_function_words_are_those_that_the_corpus_has_often() -> None:
    """`the` (.25) against `barks` (.75), of two words: P and R are their shares."""
    penalty = 1 - 0.6 * 1**0.2
    assert scores("the barks", "the dog")[0] == pytest.approx(0.25 * penalty)
    assert scores("dog barks", "cat barks")[0] == pytest.approx(0.5 * penalty)


def test_stems_are_those_of_snowball_or_five_letters() -> None:
    """`parks` and `park`: the stemmer knows, five letters do not; Tibetan has no stemmer."""
    assert scores("translating", "translated", "bo")[0] == pytest.approx(0.6)
    assert scores("parks", "park", "en")[0] == pytest.approx(0.6)
    assert scores("parks", "park", "bo")[0] == 0


def test_synonyms_are_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One word of one, in a set with the other: .8."""
    wordnet = small_wordnet(tmp_path)
    monkeypatch.setattr("features.text.stems.english", lambda: wordnet)
    monkeypatch.setattr("qe_papers.extractors.inverted_scores.english", lambda: wordnet)
    assert inverted("autos", "cars", "en", True)["inverted_meteor_synonyms"] == pytest.approx(0.8)
    assert inverted("autos", "cars", "en")["inverted_meteor"] == 0
    refuses("WordNet, .* 'es'", inverted, "autos", "cars", "es", True)
    assert InvertedScores(COUNTS, True).content_fingerprint() == wordnet.fingerprint


def test_a_shorter_back_translation_pays_for_it() -> None:
    """Two of three words: half of the information. `dog the` is no bigram of the source."""
    unigrams = (math.log2(2001 / 1001) + math.log2(2001)) / 2
    assert scores("the dog barks", "dog the")[1] == pytest.approx(unigrams / 2)
