"""Usual spellings of words."""

import numpy as np

from features.text.tokens import Tokens
from qe_papers.resources.truecaser import Truecaser, begins


def tokens(*lines: str) -> Tokens:
    return Tokens.from_lists([line.split() for line in lines])


TEXT = tokens(
    "The red house of Ann .", "Ann said : The house is red !", "Monday it rained in the EU", "Red , red , RED"
)


def test_spellings_are_counted_away_from_the_starts_of_sentences() -> None:
    caser = Truecaser.from_tokens(TEXT)
    usual = dict(
        zip(
            ["THE", "ann", "eu", "monday", "Red", "unknown"],
            caser.usual(("THE", "ann", "eu", "monday", "Red", "unknown")),
            strict=True,
        )
    )
    assert usual == {
        "THE": "the",
        "ann": "Ann",
        "eu": "EU",
        "monday": "Monday",
        "Red": "red",
        "unknown": None,
    }
    assert caser.shares[caser.spellings.index("red")] == np.float32(3 / 4)


def test_words_of_another_part_of_the_corpus_are_unknown() -> None:
    made = Truecaser.from_tokens(TEXT.take(np.array([3])))
    assert made.spellings == (",", "RED") and made.shares.tolist() == [1.0, 0.5]  # capitals first


def test_starts() -> None:
    assert begins(tokens("a : b c", "", "d")).tolist() == [True, False, True, False, True]


def test_only_starts_are_changed() -> None:
    cased = Truecaser.from_tokens(TEXT).truecase(tokens("RED The Unknown", "", "Unknown : THE EU"))
    assert [cased.words(i) for i in range(3)] == [
        ["red", "The", "Unknown"],
        [],
        ["Unknown", ":", "the", "EU"],
    ]
