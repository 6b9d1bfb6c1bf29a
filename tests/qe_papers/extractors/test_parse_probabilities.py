"""Figures of n-best parses, by hand."""

import numpy as np
import pytest

from features.core.segments import Segments
from qe_papers.extractors.trees import ParseProbabilities
from tests.factories import EN_ES, refuses, row, segments
from tests.features.parsed import block

TREE = "constituency = (S (NP (N a)) (VP (V b)))"


def parsed(*comments: str) -> Segments:
    return segments("a b", tokenizers=EN_ES, annotation_source=block("a b", comments))


SIDE = ParseProbabilities(sides="source")


def test_by_hand() -> None:
    """Probabilities .2, .1, .1: half of them is the best's."""
    logs = np.log([0.2, 0.1, 0.1])
    text = " ".join(f"{value:.12f}" for value in logs)
    values = row(SIDE, parsed(TREE, "tree_grammar = fine", f"tree_log_probabilities = {text}"))
    expected = {
        "log_probability": logs[0], "log_probability_by_word": logs[0] / 2, "trees": 3, "confidence": 0.5,
        "mean_log_probability": logs.mean(), "spread": np.log(2) * 2 / 3, "entropy": 1.5 * np.log(2),
        "plain": 0,
    }  # fmt: skip
    for name, value in expected.items():
        assert values[f"parse_{name}_source"] == pytest.approx(value), name


def test_probabilities_far_below_what_floats_hold() -> None:
    given = parsed(TREE, "tree_grammar = fine", "tree_log_probabilities = -2000 -2000")
    assert row(SIDE, given)["parse_confidence_source"] == pytest.approx(0.5)


def test_the_plain_grammars_probabilities_are_not_comparable() -> None:
    values = row(SIDE, parsed(TREE, "tree_grammar = plain", "tree_log_probabilities = -9"))
    assert values["parse_plain_source"] == 1 and np.isnan(values["parse_log_probability_source"])


@pytest.mark.parametrize(
    ("comments", "what"),
    [((TREE,), "the parse has no probabilities"), ((), "no constituents"),
     ((TREE, "tree_log_probabilities = -1 x"), "the parse has no probabilities")],
)  # fmt: skip
def test_what_is_missing_is_one_message(comments: tuple[str, ...], what: str) -> None:
    refuses(f"annotation_source, segment 1: {what}", SIDE.extract, parsed(*comments))
