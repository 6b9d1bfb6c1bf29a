"""Counts by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qe_papers.extractors.token_counts import TokenCounts, diversity, genitives, inner_capitals
from tests.factories import row, segments


def values(source: str, target: str) -> dict[str, float]:
    return row(TokenCounts(), segments(source, target))


def test_by_hand() -> None:
    row = values("The boys ' dog ( the one ) from Rome", "El ( perro [ de ] Roma )")
    assert (row["types_source"], row["types_target"]) == (9, 8)  # The and the are one word
    assert (row["bigrams_source"], row["bigrams_target"]) == (9, 7)
    assert (row["brackets_source"], row["brackets_target"], row["brackets_squared_difference"]) == (2, 4, 4)
    assert (row["genitives_source"], row["has_genitives"], row["has_brackets"]) == (1, 1, 1)
    assert (row["inner_capitals_source"], row["inner_capitals_target"]) == (1, 1)


def test_absolute_differences_have_no_sign() -> None:
    """Two full stops and commas against one each; a colon against none; no question mark against one."""
    row = values("a , b , c . : .", "a , b . ?")
    expected = {"full_stops": 1, "commas": 1, "colons": 1, "semicolons": 0, "question_marks": 1}
    for name, difference in expected.items():
        assert row[f"{name}_absolute_difference"] == difference, name


def test_diversity_by_hand() -> None:
    """Five tokens, four types: 16 / 2; of the target nothing repeats."""
    row = values("The dog sees the cat", "el perro ve al gato")
    assert row["diversity_d_source"] == 8 and np.isnan(row["diversity_d_target"])


@given(st.integers(1, 200), st.integers(1, 200))
def test_diversity_is_the_curve_of_malvern_and_richards(types: int, more: int) -> None:
    """TTR = D/N ((1 + 2 N/D)^(1/2) - 1)."""
    tokens = types + more
    (d,) = diversity(np.array([float(tokens)]), np.array([float(types)]))
    assert d / tokens * (np.sqrt(1 + 2 * tokens / d) - 1) == pytest.approx(types / tokens)


def test_ratios_by_hand() -> None:
    """Source: 4 quotation marks, 2 brackets, 8 marks of punctuation in all; target: 2, 4, 7."""
    row = values("He : \" a \" ( or ' b ' ) .", "El « a » ( [ o ] ) .")
    assert (row["quote_ratio"], row["quote_inverse_ratio"]) == (0.5, 2)
    assert (row["bracket_ratio"], row["bracket_inverse_ratio"]) == (2, 0.5)
    assert row["punctuation_inverse_ratio"] == 7 / 8


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
