"""Edges projected and counted by hand; the figures of section 2.2 with its formula mended."""

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.resources.aligner import AlignerBuilder
from qe_papers.extractors.dependencies import ProjectedDependencies
from qe_papers.learned.edge_counts import VARIANTS, counted, measures, projection
from qe_papers.syntax import Word
from tests.factories import ENGLISH, SPANISH, row
from tests.features.parsed import block, forms

PAIRS = [("the houses", "las casas"), ("the red", "la roja"), ("red houses", "rojas casas"), ("the", "la")]
SOURCE = "the/DET/_/3/det red/ADJ/_/3/amod houses/NOUN/_/0/root"


def made() -> ProjectedDependencies:
    corpus = ParallelCorpus.from_lines(PAIRS * 20, ENGLISH, SPANISH)
    return ProjectedDependencies(AlignerBuilder().build(corpus))


def segments(*targets: str) -> Segments:
    columns = {"source": [forms(SOURCE)] * len(targets), "target": list(targets),
               "annotation_source": [block(SOURCE)] * len(targets)}  # fmt: skip
    return Segments.from_columns(columns, ENGLISH, SPANISH)


def test_projection_by_hand() -> None:
    """`a` depends on `b`; b is linked to two words, one of them that of a: no edge of a word with itself."""
    source = [
        Word("a", "a", "X", head=1, relation="det"),
        Word("b", "b", "X", head=-1),
        Word("c", "c", "X", head=0),
    ]
    edges = projection(source, [[0], [0, 1], []], {"words": ["A", "B"], "roots": ["α", "β"]})
    assert edges == [[{"words": ("det", "B", "A"), "roots": ("det", "β", "α")}], []]


def test_counts_by_hand() -> None:
    """The same dependency must be the same edge: elsewhere in the reference it does not count."""
    det, obj = (dict.fromkeys(VARIANTS, (relation, "casa", "la")) for relation in ("det", "obj"))
    own = [[[det], [obj]], [[det], [det]]]
    other = [[[det], []], [[obj], [det]]]
    expected = {det["words"]: (2, 1), obj["words"]: (0, 1)}
    assert counted(own, other) == dict.fromkeys(VARIANTS, expected)


def test_quarters_are_of_ranked_edges() -> None:
    """Eight edges: two in a quarter, four in a half."""
    seen = {("d", "h", str(k)): (k, 8 - k) for k in range(8)}
    coverage, occurrences, *parts = measures(list(seen), seen)
    agreed = np.arange(8)[::-1] / 8
    expected = [
        agreed[:2].mean(),
        agreed[:4].mean(),
        1 - agreed.mean(),
        1 - agreed[-2:].mean(),
        1 - agreed[-4:].mean(),
    ]
    assert (coverage, occurrences) == (1, 8) and parts == pytest.approx(expected)


@pytest.mark.slow
def test_from_references_to_features() -> None:
    """`las casas` is in the reference with the same words, `rojas` is not."""
    batch = segments("las rojas casas")
    fitted = made().fit(batch, {"reference": ["las roja casas"]})
    values = row(fitted, batch)
    assert values["projected_words_coverage"] == 1
    assert (values["projected_words_agreed_quarter"], values["projected_words_differed_quarter"]) == (1, 1)
    assert values["projected_words_differed"] == 0.5
    assert values["projected_roots_differed"] == 0  # `rojas` and `roja` have one stem
    unseen = row(fitted, segments("la rojas casas"))
    assert unseen["projected_words_coverage"] == 0.5


def test_coverage_in_both_readings() -> None:
    """Prose: 2 of 3 edges were seen. Equation: (4 + 2 + 0) / 3 occurrences an edge."""
    seen = {("d", "a", "b"): (3, 1), ("d", "a", "c"): (0, 2)}
    assert measures([*seen, ("d", "a", "x")], seen)[:2] == [2 / 3, 2.0]
