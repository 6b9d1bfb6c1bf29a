"""The mathematics of NIST, by hand; tests/systems/test_mt_metrics.py has it as a metric."""

import math

import numpy as np
import pytest

from features.edits.ngram_matches import information, nist
from features.edits.ter import common_ids
from features.text.tokens import Tokens


def test_information_by_hand() -> None:
    """Other texts a b a c: a stands twice of four, b once; b after a once of two. x is nowhere."""
    texts = [Tokens.from_lists([["a", "b", "x"]]), Tokens.from_lists([["a", "b", "a", "c"]])]
    bits = information(common_ids(*texts), texts, 2)
    np.testing.assert_allclose(bits, [[1, 2, 0], [1, 0, 0]])


def test_score_by_hand() -> None:
    """6 bits of 3 unigrams and 1 bit of 2 bigrams; at 2/3 of the reference length the penalty is a half."""
    bits, counts = np.array([[6.0, 1.0], [6.0, 1.0]]), np.array([[3, 2], [3, 2]])
    scores = nist(bits, counts, np.array([2.0, 9.0]), np.array([3.0, 8.0]))
    assert scores == pytest.approx([(2 + 0.5) / 2, 2 + 0.5])


def test_empty_texts() -> None:
    """No hypothesis: 0; neither text: undefined."""
    none = np.zeros((2, 1))
    scores = nist(none, none, np.zeros(2), np.array([3.0, 0.0]))
    assert scores[0] == 0 and math.isnan(scores[1])
