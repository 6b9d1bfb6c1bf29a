"""Dependencies matched by lexicons and projected over links, counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from features import Segments
from features.resources.aligner import AlignerBuilder
from features.resources.lexicon import Lexicon
from features.text.links import Links
from features.text.tokens import Tokens
from qe_papers.extractors.dependencies import DependencyMatches, ProjectedDependencies
from qe_papers.learned.edge_counts import VARIANTS, counted, measures, projections
from qe_papers.syntax import Word
from tests.factories import EN_ES, corpus, row, segments
from tests.features.parsed import block, forms, parsed

SOURCE = "John/PROPN/_/2/nsubj loves/VERB/_/0/root bread/NOUN/_/2/obj"


@pytest.fixture(scope="module")
def extractor() -> DependencyMatches:
    pairs = corpus([("loves", "ama"), ("loves", "quiere"), ("john", "john"), ("bread", "pan")] * 20, EN_ES)
    directions = ("source_to_target", "target_to_source")
    return DependencyMatches(*(Lexicon.build(pairs, direction=direction) for direction in directions))


def values(extractor: DependencyMatches, target: str) -> dict[str, float]:
    return row(extractor, parsed(SOURCE, target))


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


SOURCE_OF_PROJECTED_DEPENDENCIES = "the/DET/_/3/det red/ADJ/_/3/amod houses/NOUN/_/0/root"


def made() -> ProjectedDependencies:
    pairs = [
        ("the houses", "las casas"),
        ("the red", "la roja"),
        ("red houses", "rojas casas"),
        ("the", "la"),
    ]
    return ProjectedDependencies(AlignerBuilder().build(corpus(pairs * 20, EN_ES)))


def of_houses(target: str) -> Segments:
    source = SOURCE_OF_PROJECTED_DEPENDENCIES
    return segments(forms(source), target, EN_ES, annotation_source=block(source))


def test_projection_by_hand() -> None:
    """`a` depends on `b`; b is linked to two words, one of them that of a: no edge of a word with itself."""
    source = [
        Word("a", "a", "X", head=1, relation="det"),
        Word("b", "b", "X", head=-1),
        Word("c", "c", "X", head=0),
    ]
    links, tokens = Links.from_pharaoh(["0-0 1-0 1-1"]), Tokens.from_lists([["Casas", "sol"]])
    (edges,) = projections([source], links, tokens, "es")
    forms_of = {"words": ("sol", "casas"), "roots": ("sol", "cas"), "suffixes": ("-", "as")}
    assert edges == [[{variant: ("det", *pair) for variant, pair in forms_of.items()}], []]


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
    batch = of_houses("las rojas casas")
    fitted = made().fit(batch, {"reference": ["las roja casas"]})
    values = row(fitted, batch)
    assert values["projected_words_coverage"] == 1
    assert (values["projected_words_agreed_quarter"], values["projected_words_differed_quarter"]) == (1, 1)
    assert values["projected_words_differed"] == 0.5
    assert values["projected_roots_differed"] == 0  # `rojas` and `roja` have one stem
    unseen = row(fitted, of_houses("la rojas casas"))
    assert unseen["projected_words_coverage"] == 0.5


def test_coverage_in_both_readings() -> None:
    """Prose: 2 of 3 edges were seen. Equation: (4 + 2 + 0) / 3 occurrences an edge."""
    seen = {("d", "a", "b"): (3, 1), ("d", "a", "c"): (0, 2)}
    assert measures([*seen, ("d", "a", "x")], seen)[:2] == [2 / 3, 2.0]
