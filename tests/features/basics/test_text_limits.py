"""Texts that are too long for what compares every word with every other one."""

import pytest

from features.basics.numerals import MAX_WORDS, too_long

LONG = "no " * (MAX_WORDS + 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no " * MAX_WORDS, ""),
        (LONG, "2,001 words"),
        ("!" * (MAX_WORDS + 1), "2,001 words"),  # each is a token
        ("x" * 20_000, ""),
        ("x" * 20_001, "20,001 characters"),
        ("\u2028 " * 5000, ""),  # blanks are no words
    ],
)
def test_words_and_characters(text: str, says: str) -> None:
    assert too_long(text).startswith(says) and bool(too_long(text)) == bool(says)
