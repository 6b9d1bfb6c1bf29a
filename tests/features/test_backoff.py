"""Backoff features against values worked by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import ParallelCorpus, Segments
from features.backoff import LEVELS, Backoff, neighbour_product
from features.resources.language_model import LanguageModel, NumberLanguageModel
from features.text.tokens import Tokens
from tests.factories import ENGLISH

CORPUS = [["a", "b", "c", "d", "e", "f"], ["b", "c", "x"], ["a", "b"]]


def extractor() -> Backoff:
    tokens = Tokens.from_lists(CORPUS)
    forward = LanguageModel.from_tokens(tokens, order=5)
    backward = LanguageModel.from_tokens(tokens, order=5, direction="backward")
    return Backoff(forward, forward, backward, backward)


def rows(*texts: str) -> list[dict[str, float]]:
    e = extractor()
    columns = {"source": list(texts), "target": ["a"] * len(texts)}
    values = e.extract(Segments.from_columns(columns, ENGLISH, ENGLISH))
    return [dict(zip(e.names, row, strict=True)) for row in values]


def test_by_hand() -> None:
    """`a b c x zz f`: seen are <s>a, <s>ab, <s>abc; then bcx (after a b c: no); zz never; f after zz: alone.

    Matched 2 3 4 3 0 1 of 2 3 4 5 5 5 possible; steps 0 0 0 2 5 4; with the start padded 5 5 5 3 0 1.
    """
    lines_read = rows("a b c x zz f")[0]
    score = np.array([1, 1, 1, 3 / 5, 0, 1 / 5])
    assert lines_read["backoff_source_mean_matched"] == pytest.approx((4 + 4 + 4 + 3 + 0 + 1) / 6)
    assert lines_read["backoff_source_mean_steps"] == pytest.approx(11 / 6)
    assert lines_read["backoff_source_mean_score"] == pytest.approx(score.mean())
    shares = [lines_read[f"backoff_source_matched_{k}"] for k in LEVELS]
    assert shares == pytest.approx([1 / 6, 1 / 6, 0, 1 / 6, 0, 3 / 6])
    assert lines_read["backoff_source_score_left"] == pytest.approx((1 + 1 + 1 + 3 / 5 + 0 + 0) / 6)
    assert lines_read["backoff_source_score_centred"] == pytest.approx((1 + 1 + 3 / 5 + 0 + 0 + 0) / 6)
    assert lines_read["backoff_source_score_right"] == pytest.approx((1 + 3 / 5 + 0 + 0 + 0 + 1 / 5) / 6)


def test_backward_models_back_off_from_the_end() -> None:
    """`b x`: backward, `</s> x` was seen (full), `x b` was not, b alone was: 1 of 3 possible, 2 steps."""
    lines_read = rows("b x")[0]
    assert lines_read["backoff_source_backward_mean_steps"] == pytest.approx((0 + 2) / 2)
    assert lines_read["backoff_source_backward_mean_matched"] == pytest.approx((4 + 1) / 2)


@pytest.mark.slow
def test_probabilities_of_neighbours() -> None:
    e = extractor()
    p = 10 ** e.source_lm5.score(Tokens.from_lists([["b", "a", "c"]])).token_log10
    lines_read = rows("b a c")[0]
    assert lines_read["backoff_source_probability_left"] == pytest.approx(
        (p[0] + p[0] * p[1] + p[0] * p[1] * p[2]) / 3
    )
    assert lines_read["backoff_source_probability_centred"] == pytest.approx(
        (p[0] * p[1] + p[0] * p[1] * p[2] + p[1] * p[2]) / 3
    )
    assert lines_read["backoff_source_probability_right"] == pytest.approx(
        (p[0] * p[1] * p[2] + p[1] * p[2] + p[2]) / 3
    )


@settings(max_examples=40)
@given(
    texts=st.lists(st.lists(st.floats(0.1, 2), max_size=6), min_size=1, max_size=5),
    left=st.integers(0, 3),
    right=st.integers(0, 3),
)
def test_neighbour_product_equals_a_loop(texts: list[list[float]], left: int, right: int) -> None:
    tokens = Tokens.from_lists([["w"] * len(text) for text in texts])
    values = np.array([v for text in texts for v in text])
    expected = [np.prod(text[max(0, i - left) : i + right + 1]) for text in texts for i in range(len(text))]
    np.testing.assert_allclose(neighbour_product(values, tokens, left, right), expected)


def test_numbers_as_one_word() -> None:
    """`<s> in $number x` was seen, of another number: the model's order; of `in x 5`, 4, then 1 twice."""
    corpus = ParallelCorpus.from_lines([("in 1990 x", "y"), ("x x", "y")], ENGLISH, ENGLISH)
    source, target = (NumberLanguageModel.build(corpus, side=s, order=4) for s in ("source", "target"))
    made = Backoff.for_settings({"numbers": True})(source, target)
    segments = Segments.from_columns(
        {"source": ["in 1999 x", "in x 5"], "target": ["y", "y"]}, ENGLISH, ENGLISH
    )
    assert [*made.names] == ["backoff_source_number_mean_matched", "backoff_target_number_mean_matched"]
    np.testing.assert_allclose(made.extract(segments)[:, 0], [4, (4 + 1 + 1) / 3])
    assert np.isnan(
        made.extract(Segments.from_columns({"source": [""], "target": ["y"]}, ENGLISH, ENGLISH))[0, 0]
    )
