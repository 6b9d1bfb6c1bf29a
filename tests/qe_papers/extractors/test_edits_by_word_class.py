"""Edits against a second translation by word class: by hand, and equal to what `qe effort` counts."""

from collections.abc import Sequence

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.text.annotation import block_of
from qe_papers.extractors.parts_of_speech import EditsByWordClass

WHITESPACE = Tokenizer("es", "whitespace")


def segments(*rows: tuple[str, str]) -> Segments:
    """Rows of `word/lemma/UPOS` tokens: translation, pseudo-reference."""

    def parts(text: str) -> list[Sequence[str]]:
        return [token.split("/") for token in text.split()]

    def words(column: int) -> list[str]:
        return [" ".join(p[0] for p in parts(row[column])) for row in rows]

    def blocks(column: int) -> list[str]:
        return [block_of([(p[0], p[1], p[2], "_") for p in parts(row[column])]) for row in rows]

    columns = {
        "source": ["x"] * len(rows), "target": words(0), "pseudo_reference": words(1),
        "annotation_target": blocks(0), "annotation_pseudo_reference": blocks(1),
    }  # fmt: skip
    return Segments.from_columns(columns, Tokenizer("en"), WHITESPACE)


def row(target: str, second: str) -> dict[str, float]:
    extractor = EditsByWordClass()
    values = extractor.extract(segments((target, second)))[0]
    return {name.removeprefix("edits_"): v for name, v in zip(extractor.names, values, strict=True)}


def test_by_hand() -> None:
    cells = row(
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
    assert row("uno/uno/NUM", "casa/casa/NOUN")["pos_changed"] == 1
    assert row("uno/uno/X", "casa/casa/NOUN")["word_changed"] == 1  # nobody knows that its class is another


def test_a_lemma_that_is_not_given_is_simplemmas() -> None:
    cells = row("casas/_/NOUN", "casa/casa/NOUN")
    assert cells["noun_edited"] == 1 and cells["word_changed"] == 0
