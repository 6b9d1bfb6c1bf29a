"""Alignment features of given links, by hand."""

import math
from typing import Any

import numpy as np
import pytest

from features.alignment import AlignmentFeatures
from features.resources.aligner import Aligner
from tests.factories import corpus, refuses, row, segments


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    pairs = [("a b", "x y"), ("a", "x"), ("b c", "y z"), ("c a", "z x")] * 5
    return Aligner.build(corpus(pairs))


def conllu(*tags: str) -> str:
    return "\n".join(f"{i}\tw\tw\t{tag}\t_\t_\t0\troot\t_\t_" for i, tag in enumerate(tags, start=1))


def values(
    aligner: Aligner,
    source: str,
    target: str,
    links: str | None,
    *,
    classes: Any = "universal",
    **columns: str,
) -> dict[str, float]:
    extractor = AlignmentFeatures(aligner, links="aligner" if links is None else "column", classes=classes)
    given = columns if links is None else {**columns, "alignment": links}
    return row(extractor, segments(source, target, **given))


# Source 0 1 2 3 4, target 0 1 2 3 4 5: 0-1 and 1-0 one to one and crossing; 2 to 2 and 3; 3 and 4 to 4.
LINKS = "0-1 1-0 2-2 2-3 3-4 4-4"
SOURCE, TARGET = "p q r s t", "u v w x y z"


def test_link_types(aligner: Aligner) -> None:
    features = values(aligner, SOURCE, TARGET, LINKS)
    assert features["alignment_one_to_one"] == 2
    assert features["alignment_one_to_one_per_source"] == pytest.approx(2 / 5)
    assert features["alignment_one_to_one_per_target"] == pytest.approx(2 / 6)
    kinds = ("unaligned", "one_to_one", "one_to_many", "many_to_one", "many_to_many")
    assert [features[f"alignment_source_{kind}"] for kind in kinds] == pytest.approx([0, 0.4, 0.2, 0.4, 0])
    assert [features[f"alignment_target_{kind}"] for kind in kinds] == pytest.approx(
        [1 / 6, 2 / 6, 1 / 6, 2 / 6, 0]
    )


def test_many_to_many(aligner: Aligner) -> None:
    """0 has two links, one of them to a word that has two: both ends of that link are many to many."""
    features = values(aligner, "p q", "u v", "0-0 0-1 1-1")
    assert features["alignment_source_many_to_many"] == 0.5
    assert features["alignment_source_many_to_one"] == 0.5
    assert features["alignment_target_many_to_many"] == 0.5


def test_fertility_gaps_and_order(aligner: Aligner) -> None:
    features = values(aligner, SOURCE, TARGET, LINKS)
    assert features["alignment_source_fertility"] == pytest.approx(6 / 5)
    assert features["alignment_source_fertility_highest"] == 2
    assert features["alignment_source_fertility_variance"] == pytest.approx(np.var([1, 1, 2, 1, 1]))
    assert features["alignment_target_longest_gap"] == 1
    assert features["alignment_crossings"] == 1
    # pairs of links with two different words on either side: 15 less (2-2, 2-3) and (3-4, 4-4)
    assert features["alignment_crossing_share"] == pytest.approx(1 / 13)
    # source positions by target word: 1, 0, 2, 2, 3.5; steps -1, 2, 0, 1.5
    assert features["alignment_jump_width"] == pytest.approx(np.mean([2, 1, 1, 0.5]))
    assert features["alignment_jump_widest"] == 2
    assert features["alignment_monotone_steps"] == 0.25


def test_no_links(aligner: Aligner) -> None:
    features = values(aligner, "p q", "u v", "")
    assert features["alignment_source_unaligned"] == features["alignment_target_unaligned"] == 1
    assert features["alignment_source_longest_gap"] == 2
    for name in ("crossing_share", "jump_width", "diagonal_distance", "link_probability", "agreement_share"):
        assert math.isnan(features[f"alignment_{name}"]), name


def test_part_of_speech_agreement(aligner: Aligner) -> None:
    tags = {
        "annotation_source": conllu("DET", "NOUN", "VERB", "ADP", "DET"),
        "annotation_target": conllu("NOUN", "ADJ", "VERB", "VERB", "ADP", "PUNCT"),
    }
    features = values(aligner, SOURCE, TARGET, LINKS, **tags)
    assert features["alignment_agreement"] == 1  # 1-0 NOUN; not 0-1 DET ADJ; 2-2 is not one to one
    assert features["alignment_agreement_share"] == 0.5
    assert features["alignment_agreement_per_source"] == pytest.approx(1 / 5)
    tags["annotation_target"] = conllu("PROPN", "DET", "VERB", "VERB", "ADP", "PUNCT")
    assert values(aligner, SOURCE, TARGET, LINKS, **tags)["alignment_agreement"] == 1  # DET
    # and nouns
    assert values(aligner, SOURCE, TARGET, LINKS, classes="coarse", **tags)["alignment_agreement"] == 2
    tags["annotation_target"] = conllu("NOUN", "ADJ")
    assert math.isnan(values(aligner, SOURCE, TARGET, LINKS, **tags)["alignment_agreement"])
    assert math.isnan(values(aligner, SOURCE, TARGET, LINKS)["alignment_agreement"])


def test_posteriors_of_a_certain_alignment(aligner: Aligner) -> None:
    features = values(aligner, "a b", "x y", None)
    assert features["alignment_one_to_one"] == 2
    assert features["alignment_target_posterior"] > 0.95
    assert features["alignment_link_probability"] > 0.95
    assert features["alignment_target_null"] < 0.05
    assert features["alignment_directions_agree"] == 1
    swapped = values(aligner, "a b", "y x", None)
    assert swapped["alignment_crossings"] == 1


def test_bad_input(aligner: Aligner) -> None:
    refuses("the link 0-9 points outside", values, aligner, "p q", "u v", "0-9")
    refuses("unknown symmetrization 'diagonal'", AlignmentFeatures, aligner, symmetrization="diagonal")
    refuses("unknown links 'file'", AlignmentFeatures, aligner, links="file")
