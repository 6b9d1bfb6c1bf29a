"""Language model features against kenlm, the formulas and models scored one by one; backoff by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features import Segments
from features.backoff import LEVELS, Backoff, neighbour_product
from features.lm import LanguageModelScores
from features.machine_lm import MachineLanguageModel
from features.resources.language_model import LanguageModel, NumberLanguageModel
from features.text.tokens import Tokens
from tests.factories import ENGLISH, corpus, refuses, row, segments, table
from tests.features.resources.test_language_model import DictionaryModel, kenlm_model, random_texts

UNSEEN = [*random_texts(21, 12), ["w1", "never", "w2"]]
UNSEEN = [text for text in UNSEEN if text]


@pytest.fixture(scope="module")
def models() -> tuple[LanguageModel, ...]:
    """Forward models of both sides, backward models of both sides."""
    return of_both_directions(random_texts(20, 100))


def of_both_directions(texts: list[list[str]]) -> tuple[LanguageModel, ...]:
    tokens = Tokens.from_lists(texts)
    forward = LanguageModel.from_tokens(tokens, order=5)
    backward = LanguageModel.from_tokens(tokens, order=5, direction="backward")
    return forward, forward, backward, backward


def scored(extractor: LanguageModelScores, texts: list[list[str]]) -> dict[str, np.ndarray]:
    lines = [" ".join(text) for text in texts]
    return table(extractor, segments(lines, lines[::-1], (ENGLISH, ENGLISH)))


def test_whole_model_against_kenlm(models: tuple[LanguageModel, ...], tmp_path: Path) -> None:
    models[0].write_arpa(tmp_path / "model.arpa")
    theirs = kenlm_model(tmp_path / "model.arpa")
    rows = scored(LanguageModelScores(*models), UNSEEN)
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


def test_all_orders_against_the_formulas(models: tuple[LanguageModel, ...]) -> None:
    """Four measures, five orders, both directions, both sides."""
    rows = scored(LanguageModelScores(*models, orders="all"), UNSEEN)
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


def test_score_above_unigrams(models: tuple[LanguageModel, ...]) -> None:
    rows = scored(LanguageModelScores(*models), UNSEEN)
    lengths = [len(text) for text in UNSEEN]
    expected = (rows["lm_source_log10"] - rows["lm_source_log10_1"]) / lengths
    np.testing.assert_allclose(rows["lm_source_above_unigrams"], expected)


def test_models_of_low_order_are_refused(models: tuple[LanguageModel, ...]) -> None:
    short = LanguageModel.from_tokens(Tokens.from_lists(random_texts(20, 100)), order=3)
    mixed = LanguageModelScores(models[0], short, *models[2:])
    refuses("target_lm must score orders 1 to 5", scored, mixed, [["w1"]])


def test_probabilities_that_are_no_logarithms(models: tuple[LanguageModel, ...]) -> None:
    """10 to the power of the logarithm; a text whose probability no number can hold has 0, as in UU's."""
    extractor = LanguageModelScores(*models, probabilities=True)
    rows = scored(extractor, [["w1", "w2"], ["never"] * 400])
    expected = 10 ** rows["lm_source_log10"][0]
    assert rows["lm_source_probability"][0] == pytest.approx(expected)
    assert rows["lm_target_probability_per_token"][1] == pytest.approx(expected / 2)
    assert rows["lm_source_log10"][1] < -324 and rows["lm_source_probability"][1] == 0
    assert not [name for name in extractor.names if "backward_probability" in name]


TEXT = ["the cat sat on the mat", "the dog sat", "a cat and a dog"] * 5
MACHINE = ["cat the sat on mat", "dog the sat", "a cat and dog the the"] * 5


def translations(*targets: str) -> Segments:
    return segments("x", targets, (ENGLISH, ENGLISH))


@pytest.fixture(scope="module")
def fitted() -> MachineLanguageModel:
    text = LanguageModel.from_tokens(ENGLISH.tokens(TEXT), order=3)
    return MachineLanguageModel(text, order=2).fit(translations(*MACHINE), {})


def test_equals_the_models_scored_one_by_one(fitted: MachineLanguageModel) -> None:
    batch = ["the cat sat", "dog the sat", "unseen words the"]
    features = fitted.extract(translations(*batch))
    machine = LanguageModel.from_tokens(ENGLISH.tokens(MACHINE), order=2)
    for line, found in zip(batch, features, strict=True):
        tokens = Tokens.from_lists([line.split()])
        human = fitted.target_lm.score_orders(tokens)[1].log10
        theirs = machine.score(tokens).log10
        difference = human - theirs
        expected = [theirs.mean(), difference.mean(), difference[:-1].min(), (difference[:-1] < 0).mean()]
        np.testing.assert_allclose(found, expected)


def test_misuse_is_refused(fitted: MachineLanguageModel) -> None:
    refuses("fitted", MachineLanguageModel(fitted.target_lm).extract, translations("a"))
    refuses("no words", MachineLanguageModel(fitted.target_lm).fit, translations("", ""), {})
    higher = MachineLanguageModel(fitted.target_lm, order=4).fit(translations("a b c"), {})
    refuses("order 4 is above", higher.extract, translations("a"))


def extractor() -> Backoff:
    return Backoff(*of_both_directions([["a", "b", "c", "d", "e", "f"], ["b", "c", "x"], ["a", "b"]]))


def backoff(text: str) -> dict[str, float]:
    return row(extractor(), segments(text, "a", (ENGLISH, ENGLISH)))


def test_by_hand() -> None:
    """`a b c x zz f`: seen are <s>a, <s>ab, <s>abc; then bcx (after a b c: no); zz never; f after zz: alone.

    Matched 2 3 4 3 0 1 of 2 3 4 5 5 5 possible; steps 0 0 0 2 5 4; with the start padded 5 5 5 3 0 1.
    """
    features = backoff("a b c x zz f")
    score = np.array([1, 1, 1, 3 / 5, 0, 1 / 5])
    assert features["backoff_source_mean_matched"] == pytest.approx((4 + 4 + 4 + 3 + 0 + 1) / 6)
    assert features["backoff_source_mean_steps"] == pytest.approx(11 / 6)
    assert features["backoff_source_mean_score"] == pytest.approx(score.mean())
    shares = [features[f"backoff_source_matched_{k}"] for k in LEVELS]
    assert shares == pytest.approx([1 / 6, 1 / 6, 0, 1 / 6, 0, 3 / 6])
    assert features["backoff_source_score_left"] == pytest.approx((1 + 1 + 1 + 3 / 5 + 0 + 0) / 6)
    assert features["backoff_source_score_centred"] == pytest.approx((1 + 1 + 3 / 5 + 0 + 0 + 0) / 6)
    assert features["backoff_source_score_right"] == pytest.approx((1 + 3 / 5 + 0 + 0 + 0 + 1 / 5) / 6)


def test_backward_models_back_off_from_the_end() -> None:
    """`b x`: backward, `</s> x` was seen (full), `x b` was not, b alone was: 1 of 3 possible, 2 steps."""
    features = backoff("b x")
    assert features["backoff_source_backward_mean_steps"] == pytest.approx((0 + 2) / 2)
    assert features["backoff_source_backward_mean_matched"] == pytest.approx((4 + 1) / 2)


@pytest.mark.slow
def test_probabilities_of_neighbours() -> None:
    e = extractor()
    p = 10 ** e.source_lm5.score(Tokens.from_lists([["b", "a", "c"]])).token_log10
    features = backoff("b a c")
    assert features["backoff_source_probability_left"] == pytest.approx(
        (p[0] + p[0] * p[1] + p[0] * p[1] * p[2]) / 3
    )
    assert features["backoff_source_probability_centred"] == pytest.approx(
        (p[0] * p[1] + p[0] * p[1] * p[2] + p[1] * p[2]) / 3
    )
    assert features["backoff_source_probability_right"] == pytest.approx(
        (p[0] * p[1] * p[2] + p[1] * p[2] + p[2]) / 3
    )


@settings(max_examples=40)
@given(
    texts=st.lists(st.lists(st.floats(0.1, 2), max_size=6), min_size=1, max_size=5),
    left=st.integers(0, 3),
    right=st.integers(0, 3),
)
def test_neighbour_product_equals_a_loop(texts: list[list[float]], left: int, right: int) -> None:
    tokens = Tokens.from_lists([["w"] * len(text) for text in texts])
    values = np.array([v for text in texts for v in text])
    expected = [np.prod(text[max(0, i - left) : i + right + 1]) for text in texts for i in range(len(text))]
    np.testing.assert_allclose(neighbour_product(values, tokens, left, right), expected)


def test_numbers_as_one_word() -> None:
    """`<s> in $number x` was seen, of another number: the model's order; of `in x 5`, 4, then 1 twice."""
    pairs = corpus([("in 1990 x", "y"), ("x x", "y")], (ENGLISH, ENGLISH))
    source, target = (NumberLanguageModel.build(pairs, side=s, order=4) for s in ("source", "target"))
    made = Backoff.for_settings({"numbers": True})(source, target)
    batch = segments(["in 1999 x", "in x 5", ""], "y", (ENGLISH, ENGLISH))
    assert [*made.names] == ["backoff_source_number_mean_matched", "backoff_target_number_mean_matched"]
    np.testing.assert_allclose(made.extract(batch)[:, 0], [4, (4 + 1 + 1) / 3, np.nan])


def test_at_the_order_of_the_target_model_nothing_is_cut(fitted: MachineLanguageModel) -> None:
    """Both models are as they were built: the differences are those of two models scored alone."""
    uncut = MachineLanguageModel(fitted.target_lm, order=3).fit(translations(*MACHINE), {})
    batch = ["the cat sat", "dog the sat", "a dog and a cat sat on the mat"]
    by_name = table(uncut, translations(*batch))
    human = LanguageModel.from_tokens(ENGLISH.tokens(TEXT), order=3)
    machine = LanguageModel.from_tokens(ENGLISH.tokens(MACHINE), order=3)
    tokens = ENGLISH.tokens(batch)
    expected = (human.log10_probability(tokens) - machine.log10_probability(tokens)) / (tokens.lengths + 1)
    np.testing.assert_allclose(by_name["machine_lm_human_advantage"], expected)
