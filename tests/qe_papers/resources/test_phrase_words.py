"""Phrases that are like others: by hand, and against every pair with its subsequences written out."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np

from features.resources.phrase_table import PhraseTable
from features.storage.damage import Damaged
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from qe_papers.resources.phrase_words import Phrase, PhraseWords, PhraseWordsBuilder
from tests.factories import PLAIN, refuses


def words_of(lines: list[str]) -> PhraseWords:
    """Every n-gram of the lines is a phrase: they are their own translations, word by word."""
    corpus = ParallelCorpus.from_lines([(line, line.upper()) for line in lines], PLAIN, PLAIN)
    links = Links.from_pharaoh([" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in lines])
    table = PhraseTable.from_links(corpus, links, minimum=1)
    return PhraseWordsBuilder(phrase_table=table, side="source").build(corpus)


def phrases_of(words: PhraseWords) -> list[Phrase]:
    return [words.phrase(place) for place in range(len(words))]


def sequence(one: Phrase, other: Phrase) -> int:
    """Words of the longest common subsequence: of all subsequences."""
    return max(
        n for n in range(len(one) + 1) if set(combinations(one, n)) & set(combinations(other, n))
    )  # fmt: skip


def segment(one: Phrase, other: Phrase) -> int:
    spans = lambda text: {text[i:j] for i in range(len(text)) for j in range(i, len(text) + 1)}  # noqa: E731
    return max(map(len, spans(one) & spans(other)))


def test_against_every_pair() -> None:
    words = words_of([" ".join(letters) for letters in product("ab", "ab", "bc", "ac", "ab")])
    patterns = [*phrases_of(words), ("a", "b"), ("a", "x", "b", "c", "a"), ("a", "b", "c", "a", "x", "b")]
    expected = {
        g: {
            p
            for p in phrases_of(words)
            if p != g and sequence(p, g) ** 2 * 10 > 6 * len(p) * len(g) and segment(p, g) >= 3
        }
        for g in patterns
    }
    found = {g: set(phrases) for g, phrases in words.similar(patterns).items()}
    assert found == {g: phrases for g, phrases in expected.items() if phrases}
    assert words.similar(patterns) == words.similar(patterns[::-1])  # those that are known by now too


def test_longer_phrases_than_there_can_be_are_damage() -> None:
    """Compiled code has room for five words."""
    words = words_of(["a b c d e f"])
    words.check_arrays()
    refuses("lengths", replace(words, starts=np.array([0, len(words.words)])).check_arrays, error=Damaged)
