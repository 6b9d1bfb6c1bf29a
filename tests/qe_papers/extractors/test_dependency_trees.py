"""Shapes of dependency trees, by hand."""

import numpy as np
import pytest

from qe_papers.extractors.trees import DependencyTrees, depths_of
from tests.factories import refuses, row
from tests.features.parsed import translations

TARGET = DependencyTrees(sides="target")


def test_by_hand() -> None:
    """durmió <- gato <- el; durmió <- casa <- en; durmió <- ."""
    text = (
        "el/DET/_/2/det gato/NOUN/_/3/nsubj durmió/VERB/_/0/root en/ADP/_/5/case casa/NOUN/_/3/obl "
        "./PUNCT/_/3/punct"
    )
    values = row(TARGET, translations(text))
    expected = {"width": 3, "depth": 2, "roots": 1, "distance": (1 + 1 + 1 + 2 + 3) / 5, "leaves": 3 / 6,
                "to_the_right": 2 / 5}  # fmt: skip
    for name, value in expected.items():
        assert values[f"dependency_{name}_target"] == pytest.approx(value), name


def test_one_word_has_no_distance() -> None:
    values = row(TARGET, translations("sí/INTJ/_/0/root"))
    assert (values["dependency_width_target"], values["dependency_depth_target"]) == (1, 0)
    assert np.isnan(values["dependency_distance_target"])


def test_a_long_chain_is_no_recursion() -> None:
    depths = depths_of([k - 1 for k in range(5000)])
    assert depths is not None and depths[-1] == 4999


@pytest.mark.parametrize(
    ("text", "what"), [("a/X/_/2/dep b/X/_/1/dep", "in a circle"), ("a/X", "the word 'a' has no head")]
)
def test_what_is_no_tree_is_one_message(text: str, what: str) -> None:
    refuses(what, TARGET.extract, translations(text))
