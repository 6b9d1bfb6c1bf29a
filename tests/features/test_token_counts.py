"""Counts by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from features.core.segments import Segments
from features.core.tokenizer import Tokenizer
from features.token_counts import TokenCounts, genitives, inner_capitals

PLAIN = Tokenizer(kind="whitespace", normalise=False)


def values(source: str, target: str) -> dict[str, float]:
    extractor = TokenCounts()
    row = extractor.extract(Segments((source,), (target,), PLAIN, PLAIN))[0]
    return dict(zip(extractor.names, row.tolist(), strict=True))


def test_by_hand() -> None:
    row = values("The boys ' dog ( the one ) from Rome", "El ( perro [ de ] Roma )")
    assert (row["types_source"], row["types_target"]) == (9, 8)  # The and the are one word
    assert (row["bigrams_source"], row["bigrams_target"]) == (9, 7)
    assert (row["brackets_source"], row["brackets_target"], row["brackets_squared_difference"]) == (2, 4, 4)
    assert (row["genitives_source"], row["has_genitives"]) == (1, 1)
    assert (row["inner_capitals_source"], row["inner_capitals_target"]) == (1, 1)


def test_empty_texts_have_nothing() -> None:
    assert set(values("", "").values()) == {0.0}


def test_genitives() -> None:
    for text, count in {
        "Bob 's dog": 1, "Bush ' s plan": 1, "the boys’ toys": 1, "workers ’ rights": 1,
        "he said ' the rules ' and left": 0, "' the rules ' of the boys ' game": 1, "' 90s": 0, "'": 0,
    }.items():  # fmt: skip
        assert genitives(text.split()) == count, text


def test_capitals_at_the_beginning_of_sentences_do_not_count() -> None:
    assert inner_capitals(["Rome", "is", "old", ".", "Anna", "said", ":", '"', "Yes", '"']) == 1  # Yes
    assert inner_capitals(["3", "Italians", "met", "in", "Rome"]) == 1
    assert inner_capitals(["Jean-Luc", "and", "Mary-Ann"]) == 1


@given(st.lists(st.sampled_from(["a", "A", "b", "(", "'", "s"]), max_size=8))
def test_types_are_a_set(words: list[str]) -> None:
    row = values(" ".join(words), "x")
    assert row["types_source"] == len({word.lower() for word in words})
    assert np.isfinite(list(row.values())).all()
