"""Parts of speech: shares, ambiguity and edits by class, counted by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.basics.array_types import FloatArray
from features.core.feature_set import make_extractor, parts_needed
from features.text.annotation import block_of
from qe_papers.extractors.entities import Entities
from qe_papers.extractors.parts_of_speech import UPOS, EditsByWordClass, PartsOfSpeech
from tests.factories import EN_ES, SPANISH, annotated_bundle, row, segments
from tests.features.parsed import entity_block


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


# `b` is twice p and once q in the source; `x` has one tag; in the target every word has one.
SOURCE = [["a/p", "b/p"], ["b/q", "x/r"], ["b/p"]]
TARGET = [["A/P"], ["B/P"], ["B/P"]]


def annotated(side: list[list[str]]) -> tuple[str, ...]:
    split = [[tuple(word.split("/")) for word in words] for words in side]
    return tuple(block_of([(form, "_", "_", tag) for form, tag in words]) for words in split)


def text(words: list[str]) -> str:
    return " ".join(word.split("/")[0] for word in words)


def shares(folder: Path, settings: dict[str, Any]) -> FloatArray:
    columns = {"source": list(map(text, SOURCE)), "target": list(map(text, TARGET)),
               "annotation_source": annotated(SOURCE), "annotation_target": annotated(TARGET)}  # fmt: skip
    corpus, config = Segments.from_columns(columns, *EN_ES), {"kind": "tag_ambiguity"}
    texts = segments(["b x", "a z z z", ""], ["A B", "Q", "A"], EN_ES)
    bundle = annotated_bundle(folder, corpus, parts_needed([config]), {"source_tag_dictionary": settings})
    return make_extractor(config, bundle).extract(texts)


def test_counts_by_hand(tmp_path: Path) -> None:
    nan = np.nan
    expected = [[0.5, 0, 0, 0], [0, 0.75, 0, 1], [nan, nan, 0, 0]]
    np.testing.assert_array_equal(shares(tmp_path / "b", {}), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("least", "ambiguous"), [(1 / 3, 0.5), (0.34, 0.0), (0.9, 0.0)])
def test_rare_tags_are_the_taggers_mistakes(tmp_path: Path, least: float, ambiguous: float) -> None:
    """`b` is q in one of three places; a word whose tags are all rare is known nevertheless."""
    values = shares(tmp_path / "b", {"least_share": least})
    assert values[0, 0] == ambiguous
    assert values[0, 1] == 0


def compared(target: str, second: str) -> dict[str, float]:
    """Features of texts of `word/lemma/UPOS` tokens: translation, pseudo-reference."""
    parts = [[token.split("/") for token in text.split()] for text in (target, second)]
    texts = [" ".join(token[0] for token in text) for text in parts]
    blocks = [block_of([(word, lemma, upos, "_") for word, lemma, upos in text]) for text in parts]
    given = segments(
        "x", texts[0], (Tokenizer("en"), SPANISH), pseudo_reference=texts[1],
        annotation_target=blocks[0], annotation_pseudo_reference=blocks[1],
    )  # fmt: skip
    return row(EditsByWordClass(), given, prefix="edits_")


def test_by_hand() -> None:
    cells = compared(
        "La/el/DET casa/casa/NOUN blanca/blanco/ADJ arde/arder/VERB ya/ya/ADV ././PUNCT",
        "la/el/DET roja/rojo/ADJ casa/casa/NOUN ardió/arder/VERB !/!/PUNCT",
    )
    # la: match; casa: match, moved by 1; blanca - roja: word changed, moved; ardió: form; ya: deleted; . - !
    assert cells["word_changed"] == pytest.approx(2 / 6) and cells["pos_changed"] == 0
    assert cells["noun_edited"] == 0 and cells["noun_moved"] == 1
    assert cells["adjective_edited"] == 1 and cells["adjective_moved"] == 1
    assert cells["verb_edited"] == 1 and cells["verb_moved"] == 0
    assert cells["determiner_edited"] == 0 and cells["determiner_moved"] == 0
    assert cells["other_edited"] == 1 and np.isnan(cells["other_moved"])
    assert cells["punctuation_edited"] == 1


def test_another_class() -> None:
    assert compared("uno/uno/NUM", "casa/casa/NOUN")["pos_changed"] == 1
    # Nobody knows that its class is another.
    assert compared("uno/uno/X", "casa/casa/NOUN")["word_changed"] == 1


def test_a_lemma_that_is_not_given_is_simplemmas() -> None:
    cells = compared("casas/_/NOUN", "casa/casa/NOUN")
    assert cells["noun_edited"] == 1 and cells["word_changed"] == 0


SOURCE_OF_ENTITIES = {
    "Ana": "B-PERSON", "saw": "O", "New": "B-GPE", "York": "I-GPE", "and": "O", "the": "O", "UN": "B-ORG",
}  # fmt: skip
TARGET_OF_ENTITIES = {
    "Ana": "B-PER", "vio": "O", "new": "B-LOC", "york": "I-LOC", "y": "O", "la": "O", "ONU": "B-MISC",
    "o": "O", "Oslo": "B-LOC",
}  # fmt: skip


def values_by_name() -> dict[str, float]:
    sides = SOURCE_OF_ENTITIES, TARGET_OF_ENTITIES
    source, target = (entity_block(tags.items()) for tags in sides)
    texts = segments(*map(" ".join, sides), EN_ES, annotation_source=source, annotation_target=target)
    return row(Entities(), texts)


def test_entities_by_hand() -> None:
    values = values_by_name()
    expected = {"person": (1, 1), "organisation": (1, 0), "location": (1, 2), "other": (0, 1), "all": (3, 4)}
    for kind, (source, target) in expected.items():
        counts = values[f"entities_{kind}_source"], values[f"entities_{kind}_target"]
        assert counts == (source, target), kind
        assert values[f"entities_{kind}_difference"] == source - target
    assert values["entities_source_word_for_word"] == pytest.approx(2 / 3)
    assert values["entities_target_word_for_word"] == pytest.approx(2 / 4)
    assert values["entities_shared_types"] == pytest.approx(2 / 4)


def test_several_of_a_type_are_as_one() -> None:
    """Table 2 of UEdin's paper counts segments so. The target has two places, the source no other."""
    values = values_by_name()
    expected = {"person": (1, 1), "organisation": (1, 0), "location": (1, 1), "other": (0, 1)}
    for kind, (source, target) in expected.items():
        has = values[f"entities_has_{kind}_source"], values[f"entities_has_{kind}_target"]
        assert has == (source, target), kind
    assert not any("has" in name and "difference" in name for name in values)
