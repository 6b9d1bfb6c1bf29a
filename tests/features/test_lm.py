"""Language model features against sums over words that kenlm scores, and closed forms."""

from pathlib import Path

import numpy as np
import pytest

from features.basics.errors import InputError
from features.core.segments import Segments
from features.lm import LanguageModelScores
from features.resources.language_model import LanguageModel
from features.text.tokens import Tokens
from tests.factories import ENGLISH
from tests.features.resources.test_language_model import DictionaryModel, kenlm_model, random_texts

UNSEEN = [*random_texts(21, 12), ["w1", "never", "w2"]]
UNSEEN = [text for text in UNSEEN if text]


@pytest.fixture(scope="module")
def forward() -> LanguageModel:
    return LanguageModel.from_tokens(Tokens.from_lists(random_texts(20, 100)), order=5)


@pytest.fixture(scope="module")
def backward() -> LanguageModel:
    return LanguageModel.from_tokens(Tokens.from_lists(random_texts(20, 100)), order=5, direction="backward")


def table(extractor: LanguageModelScores, texts: list[list[str]]) -> dict[str, np.ndarray]:
    lines = [" ".join(text) for text in texts]
    segments = Segments.from_columns({"source": lines, "target": lines[::-1]}, ENGLISH, ENGLISH)
    return dict(zip(extractor.names, extractor.extract(segments).T, strict=True))


def test_whole_model_against_kenlm(forward: LanguageModel, backward: LanguageModel, tmp_path: Path) -> None:
    forward.write_arpa(tmp_path / "model.arpa")
    theirs = kenlm_model(tmp_path / "model.arpa")
    rows = table(LanguageModelScores(forward, forward, backward, backward), UNSEEN)
    for i, text in enumerate(UNSEEN):
        events = np.array([row[0] for row in theirs.full_scores(" ".join(text))])
        words = events[:-1]
        expected = {
            "log10": events.sum(),
            "per_token": events.sum() / len(text),
            "perplexity": theirs.perplexity(" ".join(text)),
            "perplexity_without_end": 10 ** -words.mean(),
            "mean_probability": (10**words).mean(),
            "lowest": words.min(),
            "variance": words.var(),
        }
        for name, value in expected.items():
            assert rows[f"lm_source_{name}"][i] == pytest.approx(value, rel=1e-4, abs=1e-5), name
            assert rows[f"lm_target_{name}"][-1 - i] == pytest.approx(value, rel=1e-4, abs=1e-5), name


def test_all_orders_against_the_formulas(forward: LanguageModel, backward: LanguageModel) -> None:
    """Four measures, five orders, both directions, both sides."""
    models = (forward, forward, backward, backward)
    rows = table(LanguageModelScores(*models, orders="all"), UNSEEN)
    lengths = np.array([len(text) for text in UNSEEN])
    for stem, read in (("", lambda text: text), ("_backward", lambda text: text[::-1])):
        oracle = DictionaryModel([read(text) for text in random_texts(20, 100)], 5)
        for order in (1, 2, 3, 4, 5):
            oracle.order = order
            events = [oracle.log10([w if w in oracle.words else "<unk>" for w in read(t)]) for t in UNSEEN]
            total = np.array([sum(e) for e in events])
            words = np.array([sum(e[:-1]) for e in events])
            expected = {
                "log10": total,
                "per_token": total / lengths,
                "perplexity": 10 ** (-total / (lengths + 1)),
                "perplexity_without_end": 10 ** (-words / lengths),
            }
            for name, values in expected.items():
                column = f"{stem}_{name}" + (f"_{order}" if order < 5 else "")
                np.testing.assert_allclose(rows[f"lm_source{column}"], values, rtol=1e-4, err_msg=column)
                np.testing.assert_allclose(rows[f"lm_target{column}"][::-1], values, rtol=1e-4)


def test_score_above_unigrams(forward: LanguageModel, backward: LanguageModel) -> None:
    rows = table(LanguageModelScores(forward, forward, backward, backward), UNSEEN)
    lengths = [len(text) for text in UNSEEN]
    expected = (rows["lm_source_log10"] - rows["lm_source_log10_1"]) / lengths
    np.testing.assert_allclose(rows["lm_source_above_unigrams"], expected)


def test_models_of_low_order_are_refused(forward: LanguageModel, backward: LanguageModel) -> None:
    short = LanguageModel.from_tokens(Tokens.from_lists(random_texts(20, 100)), order=3)
    with pytest.raises(InputError, match=r"target_lm must score orders 1 to 5"):
        table(LanguageModelScores(forward, short, backward, backward), [["w1"]])


def test_probabilities_that_are_no_logarithms(forward: LanguageModel, backward: LanguageModel) -> None:
    """10 to the power of the logarithm; a text whose probability no number can hold has 0, as in UU's."""
    extractor = LanguageModelScores(forward, forward, backward, backward, probabilities=True)
    rows = table(extractor, [["w1", "w2"], ["never"] * 400])
    expected = 10 ** rows["lm_source_log10"][0]
    assert rows["lm_source_probability"][0] == pytest.approx(expected)
    assert rows["lm_target_probability_per_token"][1] == pytest.approx(expected / 2)
    assert rows["lm_source_log10"][1] < -324 and rows["lm_source_probability"][1] == 0
    assert not [name for name in extractor.names if "backward_probability" in name]
