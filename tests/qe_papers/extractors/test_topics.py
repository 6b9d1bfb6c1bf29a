"""Distances of topic shares: closed forms."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from qe_papers.extractors.similarity import DISTANCES

LEFT = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]])
RIGHT = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
FUNCTIONS = {name: function for name, _, _, function in DISTANCES}


def test_equal_distributions() -> None:
    by_name = {name: function(LEFT, RIGHT)[0] for name, function in FUNCTIONS.items()}
    assert by_name == pytest.approx(
        {"cosine": 1, "manhattan": 0, "euclidean": 0, "jensen_shannon": 0}, abs=1e-12
    )


def test_against_scipy_and_by_hand() -> None:
    assert FUNCTIONS["jensen_shannon"](LEFT, RIGHT)[1] == pytest.approx(
        jensenshannon(LEFT[1], RIGHT[1], base=2) ** 2
    )
    assert FUNCTIONS["manhattan"](LEFT, RIGHT)[1] == pytest.approx(0.8 + 0.15 + 0.65)
    assert FUNCTIONS["euclidean"](LEFT, RIGHT)[1] == pytest.approx(np.sqrt(0.64 + 0.0225 + 0.4225))
    assert FUNCTIONS["cosine"](LEFT, RIGHT)[1] == pytest.approx(0.135 / np.sqrt(0.815 * 0.54))


def test_symmetric() -> None:
    for function in FUNCTIONS.values():
        np.testing.assert_allclose(function(LEFT, RIGHT), function(RIGHT, LEFT))
