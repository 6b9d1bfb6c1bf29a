"""METEOR and NIST of back-translations, worked by hand with the counts of a small corpus."""

import math
from pathlib import Path

import pytest

from features import Segments, Tokenizer
from features.resources.ngrams import NgramCounts
from qe_papers.extractors.inverted_scores import InvertedScores
from tests.factories import PLAIN, refuses, row
from tests.features.text.test_tokens import small_wordnet

# 2,000 tokens: the 1000 times, house 998, barks twice and so no function word.
CORPUS = ["the house"] * 998 + ["the barks"] * 2


def scores(source: str, back: str, language: str = "") -> tuple[float, float]:
    columns = {"source": [source], "target": ["x"], "back_translation": [back]}
    counts = NgramCounts.from_tokens(PLAIN.tokens(CORPUS), order=5)
    words = Tokenizer(language, kind="whitespace", normalise=False) if language else PLAIN
    meteor, nist = InvertedScores(counts).extract(Segments.from_columns(columns, words, PLAIN))[0]
    return float(meteor), float(nist)


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
    counts = NgramCounts.from_tokens(PLAIN.tokens(CORPUS), order=5)
    columns = {"source": ["autos"], "target": ["x"], "back_translation": ["cars"]}

    def scored(language: str, synonyms: bool) -> dict[str, float]:
        extractor = InvertedScores(counts, synonyms)
        words = Tokenizer(language, kind="whitespace", normalise=False)
        return row(extractor, Segments.from_columns(columns, words, PLAIN))

    assert scored("en", True)["inverted_meteor_synonyms"] == pytest.approx(0.8)
    assert scored("en", False)["inverted_meteor"] == 0
    refuses("WordNet, which is English, but the language is 'es'", scored, "es", True)
    assert InvertedScores(counts, True).content_fingerprint() == wordnet.fingerprint


def test_a_shorter_back_translation_pays_for_it() -> None:
    """Two of three words: half of the information. `dog the` is no bigram of the source."""
    unigrams = (math.log2(2001 / 1001) + math.log2(2001)) / 2
    assert scores("the dog barks", "dog the")[1] == pytest.approx(unigrams / 2)
