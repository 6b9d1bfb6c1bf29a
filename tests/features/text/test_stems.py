"""Stems: the first five letters by hand, Snowball by its own rules."""

from features.text.stems import stemmed, truncated
from features.text.tokens import Tokens


def test_inflections_share_a_stem_and_texts_keep_their_lengths() -> None:
    texts = [["Traducción", "traducida"], [], ["el", "12345.67", "12345.89", "e-mail"]]
    stems = truncated(Tokens.from_lists(texts))
    assert [stems.words(i) for i in range(3)] == [
        ["tradu", "tradu"], [], ["el", "12345.67", "12345.89", "e-mail"],
    ]  # fmt: skip
    assert len(set(stems.types)) == len(stems.types)


def test_snowball_stems_and_languages_without_a_stemmer() -> None:
    tokens = Tokens.from_lists([["Parks", "parking", "Häuser"], ["park"]])
    assert stemmed(tokens, "en").types[0] == "park" and stemmed(tokens, "de").types[2] == "haus"
    assert stemmed(tokens, "de-AT").types == stemmed(tokens, "de").types
    assert stemmed(tokens, "xx").types == truncated(tokens).types
