"""What the tests of effort reports share: small annotated texts, and the WMT12 training set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from features.text.annotation import UNKNOWN, word_class_tokens
from features.text.stems import base_form_tokens
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.data.format import FORMATS
from qe_human.effort.sets import AnnotatedTexts
from tests.factories import Find

Annotated = Callable[[Sequence[str]], AnnotatedTexts]


@pytest.fixture(scope="session")
def annotated() -> Annotated:
    """Texts of `word/lemma/UPOS` tokens; lemma and tag may be left out."""

    def make(texts: Sequence[str]) -> AnnotatedTexts:
        parts = [[token.split("/") for token in text.split()] for text in texts]
        filled = [
            [(p[0], p[1] if len(p) > 1 else p[0], p[2] if len(p) > 2 else "X") for p in t] for t in parts
        ]
        layers = [Tokens.from_lists([[token[k] for token in text] for text in filled]) for k in range(3)]
        return AnnotatedTexts(layers[0], layers[1].lower(), word_class_tokens(layers[0], layers[2]))

    return make


@dataclass(frozen=True)
class Training:
    """The WMT12 training set: both sides with simplemma's lemmas and unknown word classes, scores."""

    sides: tuple[AnnotatedTexts, AnnotatedTexts]
    effort: NDArray[np.float64]


@pytest.fixture(scope="session")
def training(shared_data: Find) -> Training:
    train = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"]
    assert train.post_edit is not None and train.scores is not None
    sides = []
    for texts in (train.segments.target, train.post_edit):
        words = Tokenizer("es", normalise=False).tokens(texts)
        unknown = Tokens((UNKNOWN,), np.zeros_like(words.ids), words.offsets)
        sides.append(AnnotatedTexts(words, base_form_tokens(words.lower(), "es"), unknown))
    return Training((sides[0], sides[1]), train.scores)
