"""Edits against a second translation by word class: by hand, and equal to what `qe effort` counts."""

import numpy as np
import pytest

from features import Tokenizer
from features.text.annotation import block_of
from qe_papers.extractors.parts_of_speech import EditsByWordClass
from tests.factories import row, segments

WHITESPACE = Tokenizer("es", "whitespace")


def compared(target: str, second: str) -> dict[str, float]:
    """Features of texts of `word/lemma/UPOS` tokens: translation, pseudo-reference."""
    parts = [[token.split("/") for token in text.split()] for text in (target, second)]
    texts = [" ".join(token[0] for token in text) for text in parts]
    blocks = [block_of([(word, lemma, upos, "_") for word, lemma, upos in text]) for text in parts]
    given = segments(
        "x", texts[0], (Tokenizer("en"), WHITESPACE), pseudo_reference=texts[1],
        annotation_target=blocks[0], annotation_pseudo_reference=blocks[1],
    )  # fmt: skip
    return row(EditsByWordClass(), given, prefix="edits_")


def test_by_hand() -> None:
    cells = compared(
        "La/el/DET casa/casa/NOUN blanca/blanco/ADJ arde/arder/VERB ya/ya/ADV ./././PUNCT".replace(
            "././.", "./."
        ),
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
    assert (
        compared("uno/uno/X", "casa/casa/NOUN")["word_changed"] == 1
    )  # nobody knows that its class is another


def test_a_lemma_that_is_not_given_is_simplemmas() -> None:
    cells = compared("casas/_/NOUN", "casa/casa/NOUN")
    assert cells["noun_edited"] == 1 and cells["word_changed"] == 0
