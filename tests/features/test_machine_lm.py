"""The model of machine translations against the two models scored one by one."""

import numpy as np
import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from features.machine_lm import MachineLanguageModel
from features.resources.language_model import LanguageModel
from features.text.tokens import Tokens
from tests.factories import ENGLISH, refuses, table

TEXT = ["the cat sat on the mat", "the dog sat", "a cat and a dog"] * 5
MACHINE = ["cat the sat on mat", "dog the sat", "a cat and dog the the"] * 5


def segments(*targets: str) -> Segments:
    return Segments.from_columns({"source": ["x"] * len(targets), "target": targets}, ENGLISH, ENGLISH)


@pytest.fixture(scope="module")
def fitted() -> MachineLanguageModel:
    text = LanguageModel.from_tokens(ENGLISH.tokens(TEXT), order=3)
    return MachineLanguageModel(text, order=2).fit(segments(*MACHINE), {})


def test_equals_the_models_scored_one_by_one(fitted: MachineLanguageModel) -> None:
    batch = ["the cat sat", "dog the sat", "unseen words the"]
    features = fitted.extract(segments(*batch))
    machine = LanguageModel.from_tokens(ENGLISH.tokens(MACHINE), order=2)
    for line, row in zip(batch, features, strict=True):
        tokens = Tokens.from_lists([line.split()])
        human = fitted.target_lm.score_orders(tokens)[1].log10
        theirs = machine.score(tokens).log10
        difference = human - theirs
        expected = [theirs.mean(), difference.mean(), difference[:-1].min(), (difference[:-1] < 0).mean()]
        np.testing.assert_allclose(row, expected)


def test_at_the_order_of_the_target_model_nothing_is_cut(fitted: MachineLanguageModel) -> None:
    """Both models are as they were built: the differences are those of two models scored alone."""
    uncut = MachineLanguageModel(fitted.target_lm, order=3).fit(segments(*MACHINE), {})
    batch = ["the cat sat", "dog the sat", "a dog and a cat sat on the mat"]
    by_name = table(uncut, segments(*batch))
    human = LanguageModel.from_tokens(ENGLISH.tokens(TEXT), order=3)
    machine = LanguageModel.from_tokens(ENGLISH.tokens(MACHINE), order=3)
    tokens = ENGLISH.tokens(batch)
    expected = (human.log10_probability(tokens) - machine.log10_probability(tokens)) / (tokens.lengths + 1)
    np.testing.assert_allclose(by_name["machine_lm_human_advantage"], expected)


def test_misuse_is_refused(fitted: MachineLanguageModel) -> None:
    refuses("fitted", MachineLanguageModel(fitted.target_lm).extract, segments("a"))
    refuses("no words", MachineLanguageModel(fitted.target_lm).fit, segments("", ""), {})
    with pytest.raises(InputError, match="order 4 is above"):
        MachineLanguageModel(fitted.target_lm, order=4).fit(segments("a b c"), {}).extract(segments("a"))
