"""Parts of speech of source and translation: counted by hand."""

import math

import pytest

from features.text.annotation import block_of
from qe_papers.extractors.parts_of_speech import UPOS, PartsOfSpeech
from tests.factories import EN_ES, row, segments


def block(tags: str) -> str:
    return block_of([(f"w{i}", "_", tag, "_") for i, tag in enumerate(tags.split())])


def counted(source: str, target: str) -> dict[str, float]:
    """Features of two texts with these tags; the words do not matter."""
    texts = [" ".join(f"w{i}" for i in range(len(tags.split()))) for tags in (source, target)]
    blocks = {"annotation_source": block(source), "annotation_target": block(target)}
    return row(PartsOfSpeech(), segments(*texts, EN_ES, **blocks))


def test_counts_shares_differences_and_ratios() -> None:
    """the black cat sat . -> el gato se sentó ."""
    cells = counted("DET ADJ NOUN VERB PUNCT", "DET NOUN PRON VERB PUNCT")
    assert (cells["upos_adj_source"], cells["upos_adj_target"]) == (1, 0)
    assert (cells["upos_adj_difference"], cells["upos_pron_difference"]) == (1, -1)
    assert cells["upos_pron_absolute_difference"] == 1
    assert cells["upos_noun_source_share"] == pytest.approx(0.2)
    assert (cells["upos_noun_ratio"], cells["upos_adj_ratio"]) == (1, 0)
    assert math.isnan(cells["upos_pron_ratio"])  # the source has none
    # Content: ADJ NOUN VERB and NOUN VERB; function: DET and DET PRON (WLV-SHEF, section 3.1).
    assert (cells["pos_content_source"], cells["pos_content_target"]) == (3, 2)
    assert (cells["pos_content_to_function_source"], cells["pos_content_to_function_target"]) == (3, 1)
    assert cells["pos_distance"] == pytest.approx((0.2 + 0.2) / 2)


def test_ratios_of_shares_are_of_shares() -> None:
    """One pronoun in two words, two in three: (1 / 2) / (2 / 3)."""
    assert counted("PRON VERB", "PRON PRON AUX")["upos_pron_ratio_of_shares"] == pytest.approx(0.75)


def test_groups_count_all_their_tags() -> None:
    cells = counted("ADP CCONJ SCONJ NOUN PROPN AUX VERB X", "X")
    assert cells["pos_prepositions_conjunctions_source"] == 3
    assert (cells["pos_nouns_source"], cells["pos_verbs_source"], cells["upos_x_source"]) == (2, 2, 1)


def test_a_tag_of_another_tag_set_counts_in_the_length_alone() -> None:
    cells = counted("NN NOUN", "NOUN")
    assert sum(cells[f"upos_{tag.lower()}_source"] for tag in UPOS) == 1
    assert cells["upos_noun_source_share"] == 0.5
