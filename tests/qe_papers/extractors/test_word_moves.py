"""Moves of shared words as features."""

import numpy as np

from features import Segments, Tokenizer
from qe_papers.extractors.similarity import WordMoves
from tests.factories import refuses, segments


def compared(rows: list[tuple[str, str]], language: str = "es") -> Segments:
    targets, others = zip(*rows, strict=True)
    return segments("x", targets, (Tokenizer("en"), Tokenizer(language)), pseudo_reference=others)


def test_by_hand() -> None:
    rows = [
        ("La casa Blanca .", "Una blanca casa ."),  # las / una: substituted in place
        ("d e a b c .", "a b c d e ."),  # two words by 3, three words by 2
        ("rojos gatos", ""),
        ("uno", "dos"),
    ]
    values = WordMoves().extract(compared(rows))
    names = ("same", "alone", "group", "by_1", "further")
    assert WordMoves().names == tuple(f"word_moves_{name}" for name in names)
    np.testing.assert_allclose(values[0], [2 / 4, 2 / 4, 0, 2 / 4, 0])
    np.testing.assert_allclose(values[1], [1 / 6, 0, 5 / 6, 0, 5 / 6])
    assert np.isnan(values[2]).all()
    np.testing.assert_allclose(values[3], [1, 0, 0, 0, 0])


def test_language_without_base_forms() -> None:
    refuses("no base forms for the language 'ko'", WordMoves().extract, compared([("a", "b")], "ko"))
