"""Widths, depths and counts of trees that can be counted by hand."""

import numpy as np
import pytest

from features.core.segments import Segments
from qe_papers.extractors.trees import ConstituentTrees
from tests.factories import EN_ES, row, segments

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
