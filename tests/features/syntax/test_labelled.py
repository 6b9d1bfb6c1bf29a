"""Labels in place of words, and links moved with them, by hand and against the definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from features.syntax.phrase_units import NONE, labelled, moved
from features.text.links import Links
from features.text.tokens import Tokens

NAMES = ("<a>", "<b>")


def test_links_go_where_their_words_went() -> None:
    """`Ana Gil` and `Ana María Gil` are one token each: four links between them are one."""
    source = Tokens.from_lists([["x"], ["Ana", "Gil", "saw", "Oslo"]])
    target = Tokens.from_lists([["y"], ["Ana", "María", "Gil", "vio", "a", "Oslo"]])
    links = Links.from_pharaoh(["0-0", "0-0 0-1 1-1 1-2 2-3 3-4 3-5"])
    left = labelled(source, np.array([NONE, 0, 0, NONE, 1]), NAMES)
    right = labelled(target, np.array([NONE, 0, 0, 0, NONE, NONE, 1]), NAMES)
    assert left.tokens.words(1) == ["<a>", "saw", "<b>"]
    assert right.tokens.words(1) == ["<a>", "vio", "a", "<b>"]
    assert list(moved(links, left, right, (source, target)).pharaoh()) == ["0-0", "0-0 1-1 2-2 2-3"]


@given(st.lists(st.lists(st.integers(NONE, 1), max_size=6), min_size=1, max_size=4))
def test_runs_are_one_token_in_every_text(labels: list[list[int]]) -> None:
    texts = [[f"w{i}" for i in range(len(row))] for row in labels]
    made = labelled(
        Tokens.from_lists(texts), np.array([label for row in labels for label in row], np.int64), NAMES
    )
    start = 0
    for i, row in enumerate(labels):
        words: list[str] = []
        places: list[int] = []
        for k, label in enumerate(row):
            if label == NONE or k == 0 or row[k - 1] != label:
                words.append(f"w{k}" if label == NONE else NAMES[label])
            places.append(len(words) - 1)
        assert made.tokens.words(i) == words
        assert made.places[start : start + len(row)].tolist() == places
        start += len(row)


def test_a_word_that_looks_like_a_label_is_no_second_type() -> None:
    made = labelled(Tokens.from_lists([["<a>", "x"]]), np.array([NONE, 0]), NAMES)
    assert made.tokens.words(0) == ["<a>", "<a>"] and len(set(made.tokens.types)) == len(made.tokens.types)
