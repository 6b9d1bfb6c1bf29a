"""Texts that are too long for what compares every word with every other one."""

import pytest

from features import ParallelCorpus, Tokenizer
from features.basics.errors import InputError
from features.basics.numerals import MAX_WORDS, too_long
from features.edits.ter import ter
from features.text.tokens import Tokens
from qe.data import from_post_edits
from tests.factories import refuses

TOKENIZERS = Tokenizer("en"), Tokenizer("es")
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


def test_post_edits() -> None:
    with pytest.raises(InputError, match="post-edit 2: 2,001 words, .* split it into sentences"):
        from_post_edits(["a", "b"], ["a", LONG], "es")


def test_edit_rates() -> None:
    """Of tokens, wherever they come from."""
    short, long = Tokens.from_lists([["a"], ["a"]]), Tokens.from_lists([["a"], LONG.split()])
    refuses("segment 2: 2,001 words, but the edit rate", ter, short, long)
    refuses("segment 2: 2,001 words", ter, long, short)


def test_pairs_of_a_corpus() -> None:
    pairs = [("a", "b"), ("", LONG), ("a", "b")]
    refuses("line 2 of the parallel corpus: 2,001 words", ParallelCorpus.from_lines, pairs, *TOKENIZERS)
