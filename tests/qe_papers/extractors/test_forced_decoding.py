"""MF4-MF7 of a derivation by hand, from a table whose four scores differ."""

from dataclasses import replace

import numpy as np
import pytest

from features import Segments, Tokenizer
from features.resources.language_model import LanguageModel
from features.text.tokens import Tokens
from qe_papers.extractors.forced_decoding import ForcedDecoding
from tests.factories import row
from tests.qe_papers.extractors.test_decoder_imitation import table

PAIRS = {(("the",), ("la",)): 0.5, (("house",), ("casa",)): 0.25}
MODEL = LanguageModel.from_tokens(Tokens.from_lists([["la", "casa"], ["la", "la"]]), order=2)


def made() -> ForcedDecoding:
    """Every entry's scores: p(t|s) as given, p(s|t) a half of it, lexical weights a fourth and an eighth."""
    whole = table(PAIRS)
    probabilities = whole.forward
    return ForcedDecoding(
        replace(
            whole,
            backward=probabilities / 2,
            forward_weight=np.log(probabilities / 4),
            backward_weight=np.log(probabilities / 8),
        ),
        MODEL,
    )


def values(source: str, target: str) -> dict[str, float]:
    words = Tokenizer("en", "whitespace"), Tokenizer("es", "whitespace")
    return row(made(), Segments.from_columns({"source": [source], "target": [target]}, *words))


def test_by_hand() -> None:
    cells = values("the house", "la casa")
    sums = {"phrase_forward": 1, "phrase_backward": 2, "lexical_forward": 4, "lexical_backward": 8}
    for name, divisor in sums.items():
        expected = np.log(0.5 / divisor) + np.log(0.25 / divisor)
        assert cells[f"forced_{name}"] == pytest.approx(expected, rel=1e-6), name


def test_the_other_costs_of_a_decoder() -> None:
    """Monotone: no jump. Length and pairs by counting, the model's cost by its own sum of events."""
    cells = values("the house", "la casa")
    assert (cells["forced_distortion"], cells["forced_word_penalty"], cells["forced_phrase_penalty"]) == (
        0,
        2,
        2,
    )
    log10 = MODEL.score(Tokens.from_lists([["la", "casa"]])).log10
    assert cells["forced_lm"] == pytest.approx(log10.sum() * np.log(10))


def test_the_distortion_of_a_swap_and_of_a_skipped_word() -> None:
    """`casa la`: from 0 to `house` at 1 is 1, from 2 back to 0 is 2, from 1 to the end at 2 is 1."""
    assert values("the house", "casa la")["forced_distortion"] == 1 + 2 + 1
    assert values("the big house", "la casa")["forced_distortion"] == 1


def test_the_trace_by_hand() -> None:
    """`la`, `casa` and the unknown `zz` for four source words: 3 phrases, of 3 target words."""
    words = Tokenizer("en", "whitespace"), Tokenizer("es", "whitespace")
    segments = Segments.from_columns(
        {"source": ["the big big house", "dog"], "target": ["la casa zz", "zz"]}, *words
    )
    extractor = replace(made(), trace=True)
    assert extractor.names[:-2] == made().names
    density, length = extractor.extract(segments)[:, -2:].T
    assert density[0] == 3 / 4 and length[0] == 3 / 3
    assert np.isnan([density[1], length[1]]).all()  # no pair applies
