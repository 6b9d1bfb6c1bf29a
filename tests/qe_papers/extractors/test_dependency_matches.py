"""Matches of dependencies: the paper's example, and counts by hand."""

from dataclasses import replace

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.resources.lexicon import Lexicon
from qe_papers.extractors.dependencies import DependencyMatches
from tests.factories import ENGLISH, SPANISH, row
from tests.features.parsed import block, forms

PAIRS = [("loves", "ama"), ("loves", "quiere"), ("john", "john"), ("bread", "pan")] * 20
SOURCE = "John/PROPN/_/2/nsubj loves/VERB/_/0/root bread/NOUN/_/2/obj"


@pytest.fixture(scope="module")
def extractor() -> DependencyMatches:
    corpus = ParallelCorpus.from_lines(PAIRS, ENGLISH, SPANISH)
    directions = ("source_to_target", "target_to_source")
    forward, backward = (Lexicon.build(corpus, direction=direction) for direction in directions)
    return DependencyMatches(forward, backward)


def values(extractor: DependencyMatches, target: str) -> dict[str, float]:
    columns = {"source": [forms(SOURCE)], "target": [forms(target)],
               "annotation_source": [block(SOURCE)], "annotation_target": [block(target)]}  # fmt: skip
    return row(extractor, Segments.from_columns(columns, ENGLISH, SPANISH))


@pytest.mark.parametrize("verb", ["ama", "quiere"])
def test_the_papers_example(extractor: DependencyMatches, verb: str) -> None:
    """nsubj(loves, John) matches nsubj(ama, John) and nsubj(quiere, John), but not dobj(quiere, John)."""
    right = values(extractor, f"{verb}/VERB/_/0/root John/PROPN/_/1/nsubj")
    assert (right["dependency_nsubj_match_source"], right["dependency_nsubj_match_target"]) == (1, 1)
    assert right["dependency_obj_match_source"] == 0 and np.isnan(right["dependency_obj_match_target"])
    assert (right["dependency_all_match_source"], right["dependency_all_match_target"]) == (0.5, 1)
    assert right["dependency_nsubj_ratio"] == 1 and right["dependency_obj_ratio"] == 0
    wrong = values(extractor, f"{verb}/VERB/_/0/root John/PROPN/_/1/obj")
    assert wrong["dependency_obj_match_target"] == 0 and np.isnan(wrong["dependency_nsubj_match_target"])


def test_either_lexicon_is_enough(extractor: DependencyMatches) -> None:
    """t(ama | loves) is a half, t(loves | ama) is 1."""
    target = "ama/VERB/_/0/root John/PROPN/_/1/nsubj"
    assert values(replace(extractor, threshold=0.9), target)["dependency_nsubj_match_source"] == 1
