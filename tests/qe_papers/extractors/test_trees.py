"""Shapes and probabilities of constituent and dependency trees that can be counted by hand."""

import numpy as np
import pytest

from features.core.segments import Segments
from qe_papers.extractors.trees import ConstituentTrees, DependencyTrees, ParseProbabilities, depths_of
from tests.factories import EN_ES, row, segments
from tests.features.parsed import block, translations

# The Penn Treebank's notation, and that of CESS.
SOURCE = "(S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (NN mat)))) (. .))"
TARGET = (
    "(S (sn-SUJ (espec.ms (da0ms0 el)) (grup.nom.ms (ncms000 gato))) (grup.verb (vmis3s0 durmió)) "
    "(sp-CC (prep (sps00 en)) (sn (ncfs000 casa))) (Fp .))"
)

TEXT = "the cat sat on mat ."
WORDS = "\n".join(f"{k}\t{w}" + "\t_" * 8 for k, w in enumerate(TEXT.split(), start=1))


def parsed(source: str = SOURCE, target: str = TARGET) -> Segments:
    target_text = "el gato durmió en casa ."
    return segments(TEXT, target_text, EN_ES, annotation_source=source, annotation_target=target)


def test_by_hand() -> None:
    values = row(ConstituentTrees(), parsed())
    # levels: S | NP VP . | DT NN VBD PP | IN NP | NN; S | sn grup.verb sp Fp | 2 + 1 + 2 | 2 tags + 1
    assert (values["tree_depth_source"], values["tree_depth_target"]) == (4, 3)
    assert (values["tree_width_source"], values["tree_width_target"]) == (4, 5)
    for name, source, target in (
        ("s", 1, 1), ("np", 2, 2), ("vp", 1, 1), ("pp", 1, 1), ("cc", 0, 0), ("vb", 1, 1), ("nn", 2, 2),
        ("jj", 0, 0), ("comma", 0, 0), ("dot", 1, 1),
    ):  # fmt: skip
        assert (values[f"tree_{name}_source"], values[f"tree_{name}_target"]) == (source, target), name
        assert values[f"tree_{name}_difference"] == source - target
    assert values["tree_width_ratio"] == pytest.approx(5 / 4) and np.isnan(values["tree_cc_ratio"])


def test_tags_that_are_whole_are_no_beginnings() -> None:
    """`Fpa` is a bracket, `CD` a number."""
    values = row(ConstituentTrees(), parsed("(X (CD 1) (: ;))", "(X (Fpa -) (Fc ,) (cc y) (aq0 feo))"))
    assert (values["tree_cc_source"], values["tree_comma_source"], values["tree_dot_source"]) == (0, 0, 0)
    assert [values[f"tree_{n}_target"] for n in ("dot", "comma", "cc", "jj")] == [0, 1, 1, 1]


def test_a_text_without_a_tree_is_undefined() -> None:
    values = row(ConstituentTrees(), parsed(source=f"# tree_grammar = none\n{WORDS}"))
    assert np.isnan(values["tree_np_source"]) and np.isnan(values["tree_np_difference"])
    assert values["tree_np_target"] == 2


TARGET_OF_DEPENDENCY_TREES = DependencyTrees(sides="target")


def test_dependency_trees_by_hand() -> None:
    """durmió <- gato <- el; durmió <- casa <- en; durmió <- ."""
    text = (
        "el/DET/_/2/det gato/NOUN/_/3/nsubj durmió/VERB/_/0/root en/ADP/_/5/case casa/NOUN/_/3/obl "
        "./PUNCT/_/3/punct"
    )
    values = row(TARGET_OF_DEPENDENCY_TREES, translations(text))
    expected = {"width": 3, "depth": 2, "roots": 1, "distance": (1 + 1 + 1 + 2 + 3) / 5, "leaves": 3 / 6,
                "to_the_right": 2 / 5}  # fmt: skip
    for name, value in expected.items():
        assert values[f"dependency_{name}_target"] == pytest.approx(value), name


def test_one_word_has_no_distance() -> None:
    values = row(TARGET_OF_DEPENDENCY_TREES, translations("sí/INTJ/_/0/root"))
    assert (values["dependency_width_target"], values["dependency_depth_target"]) == (1, 0)
    assert np.isnan(values["dependency_distance_target"])


def test_a_long_chain_is_no_recursion() -> None:
    depths = depths_of([k - 1 for k in range(5000)])
    assert depths is not None and depths[-1] == 4999


TREE = "constituency = (S (NP (N a)) (VP (V b)))"


def commented(*comments: str) -> Segments:
    return segments("a b", tokenizers=EN_ES, annotation_source=block("a b", comments))


SIDE = ParseProbabilities(sides="source")


def test_parse_probabilities_by_hand() -> None:
    """Probabilities .2, .1, .1: half of them is the best's."""
    logs = np.log([0.2, 0.1, 0.1])
    text = " ".join(f"{value:.12f}" for value in logs)
    values = row(SIDE, commented(TREE, "tree_grammar = fine", f"tree_log_probabilities = {text}"))
    expected = {
        "log_probability": logs[0], "log_probability_by_word": logs[0] / 2, "trees": 3, "confidence": 0.5,
        "mean_log_probability": logs.mean(), "spread": np.log(2) * 2 / 3, "entropy": 1.5 * np.log(2),
        "plain": 0,
    }  # fmt: skip
    for name, value in expected.items():
        assert values[f"parse_{name}_source"] == pytest.approx(value), name


def test_probabilities_far_below_what_floats_hold() -> None:
    given = commented(TREE, "tree_grammar = fine", "tree_log_probabilities = -2000 -2000")
    assert row(SIDE, given)["parse_confidence_source"] == pytest.approx(0.5)


def test_the_plain_grammars_probabilities_are_not_comparable() -> None:
    values = row(SIDE, commented(TREE, "tree_grammar = plain", "tree_log_probabilities = -9"))
    assert values["parse_plain_source"] == 1 and np.isnan(values["parse_log_probability_source"])
