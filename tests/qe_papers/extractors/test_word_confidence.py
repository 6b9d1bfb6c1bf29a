"""Naive Bayes by hand: counts, smoothing, criteria; and what post-edits teach."""

import numpy as np
import pytest

from features import ParallelCorpus, Segments
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.text.tokens import Tokens
from qe_papers.extractors.word_models import CRITERIA, WordConfidence, _right
from tests.factories import ENGLISH, SPANISH, refuses, row

PAIRS = [("the house", "la casa"), ("the red house", "la casa roja"), ("red", "roja"), ("the", "la")] * 10


def made(smoothing: float = 5.0, bins: int = 2, order: int = 1) -> WordConfidence:
    corpus = ParallelCorpus.from_lines(PAIRS, ENGLISH, SPANISH)
    lexicon = Lexicon.build(corpus, direction="source_to_target")
    return WordConfidence(
        lexicon_source_to_target=lexicon,
        target_lm=LanguageModel.from_tokens(corpus.target, order=2),
        bins=bins,
        smoothing=smoothing,
        order=order,
    )


def segments(*targets: str) -> Segments:
    return Segments.from_columns(
        {"source": ["the house"] * len(targets), "target": list(targets)}, ENGLISH, SPANISH
    )


def test_criteria_by_hand() -> None:
    target = Tokens.from_lists([["a", "x", "c", "d"], ["a", "b", "c"]])
    post_edit = Tokens.from_lists([["b", "x", "c"], ["c", "q", "r", "a"]])
    levenshtein, position, near, anywhere = (flags.tolist() for flags in _right(target, post_edit))
    assert levenshtein == position == [False, True, True, False, False, False, False]
    assert near == [False, True, True, False, False, False, True]
    assert anywhere == [False, True, True, False, True, False, True]


def test_one_kind_of_word_by_hand() -> None:
    """With one bin all evidence is certain: P(right | word) = (right + s P(right)) / (seen + s)."""
    batch = segments("la casa", "la casa")
    fitted = made(smoothing=2.0, bins=1).fit(batch, {"post_edit": ["la mesa", "la mesa"]})
    prior = (2 + 1) / (4 + 2)
    la, casa = (2 + 2 * prior) / (2 + 2), (0 + 2 * prior) / (2 + 2)
    values = row(fitted, segments("la casa"))
    for criterion in CRITERIA:
        assert values[f"word_confidence_{criterion}_mean"] == pytest.approx((la + casa) / 2)
    assert row(fitted, segments("casa"))["word_confidence_any_mean"] == pytest.approx(casa)
    assert row(fitted, segments("perro"))["word_confidence_any_mean"] == pytest.approx(0.5)


def test_quartiles_are_those_of_training_words() -> None:
    targets = ["la casa roja", "roja la", "la", "casa casa"]
    fitted = made().fit(segments(*targets), {"post_edit": ["la casa", "roja", "una", "casa"]})
    values = fitted.extract(segments(*targets))
    names = [f"word_confidence_levenshtein_quartile{q}" for q in range(1, 5)]
    shares = values[:, [fitted.names.index(name) for name in names]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_evidence_tells_words_apart_that_were_never_seen() -> None:
    """What the lexicon knew was right in training: so is, more likely, a new word that it knows."""
    batch = segments(*["la casa", "la xx", "yy casa", "zz la"] * 5)
    fitted = made().fit(batch, {"post_edit": ["la casa", "la", "casa", "la"] * 5})
    known = Segments.from_columns({"source": ["red"], "target": ["roja"]}, ENGLISH, SPANISH)
    unknown = Segments.from_columns({"source": ["red"], "target": ["qq"]}, ENGLISH, SPANISH)
    name = "word_confidence_any_mean"
    assert row(fitted, known)[name] > row(fitted, unknown)[name] + 0.3


def test_criteria_of_bigrams_by_hand() -> None:
    """`a x`, `x c`, `c d`; of the other text `a b`. `x c` is kept in place; `a b` stands three places on."""
    target = Tokens.from_lists([["a", "x", "c", "d"], ["a", "b"]])
    post_edit = Tokens.from_lists([["b", "x", "c"], ["q", "q", "r", "a", "b"]])
    levenshtein, position, near, anywhere = (flags.tolist() for flags in _right(target, post_edit, 2))
    assert levenshtein[:3] == position[:3] == near[:3] == anywhere[:3] == [False, True, False]
    assert (position[3], near[3], anywhere[3]) == (False, False, True)


@pytest.mark.slow
def test_bigrams_by_hand() -> None:
    """The edit keeps, of `la casa roja`, `casa roja`: prior (1 + 1) / (2 + 2); each bigram was seen once."""
    fitted = made(smoothing=2.0, bins=1, order=2).fit(
        segments("la casa roja"), {"post_edit": ["una casa roja"]}
    )
    values = row(fitted, segments("casa roja"))
    assert values["word_confidence_2_any_mean"] == pytest.approx((1 + 2 * 0.5) / (1 + 2))
    assert row(fitted, segments("la casa"))["word_confidence_2_levenshtein_mean"] == pytest.approx(1 / 3)
    assert np.isnan(list(row(fitted, segments("casa")).values())).all()
    refuses("no training row has a 2-gram", made(order=2).fit, segments("la"), {"post_edit": ["la"]})
