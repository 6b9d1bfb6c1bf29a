"""Decoder features: by hand, against NumPy, and against the figures of the MLQE-PE data set."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.core.segments import Segments
from features.decoder import Decoder
from features.decoder_output.statistics import (
    ascending,
    deviation,
    longest_run,
    lowest_mean,
    quantile,
    worst_window,
)
from features.decoder_output.tokens import DecoderTokens
from qe.data.formats.mlqe_pe import MlqePe
from tests.factories import Find, decoded, table, tokens


def values(batch: Segments, **settings: Any) -> dict[str, list[float]]:
    return {name: c.tolist() for name, c in table(Decoder(**settings), batch, "decoder_").items()}


def test_by_hand() -> None:
    v = values(decoded(("Ha@@ us &quot; 5", "-1 -2 -3 -0.5 -0.1"), model_score=("-1.32",)))
    assert v["log_probability"] == [pytest.approx(-6.6)] and v["mean"] == [pytest.approx(-1.32)]
    assert v["end"] == [-0.1] and v["first"] == [-1] and v["last"] == [-0.5] and v["model_score"] == [-1.32]
    assert v["minimum"] == [-3] and v["word_minimum"] == [-3] and v["word_mean"] == [pytest.approx(-6.5 / 3)]
    assert v["lowest_3"] == [-2] and v["window_3"] == [-2]
    assert v["below_50"] == [0.75] and v["below_10"] == [0.25] and v["count_below_10"] == [1]
    assert v["letters"] == [-3] and v["punctuation"] == [-3] and v["numbers"] == [-0.5]
    assert v["split_words"] == [-3] and v["whole_words"] == [-1.75]
    assert v["subwords"] == [4] and v["subwords_per_word"] == [pytest.approx(4 / 3)]
    assert v["most_pieces"] == [2]
    assert v["per_character"] == [pytest.approx(-6.6 / 6)] and v["per_source_token"] == [pytest.approx(-3.3)]
    assert v["halves"] == [pytest.approx(-1.75 + 1.5)]


def with_steps(*highest: str) -> Segments:
    highest = highest or ("-0.5 -2 -0.1", "-0.5")
    steps = {"token_entropies": ("0.5 1.5 9", "9"), "token_highest_log_probabilities": highest}
    return decoded(("a b", "-1 -2 -0.1"), ("", "-0.5"), target=("a b", ""), **steps)


def test_entropies_and_highest_probabilities_of_steps() -> None:
    v = values(with_steps(), steps=["entropy", "highest"])
    assert v["entropy_mean"][0] == 1 and v["entropy_maximum"][0] == 1.5 and v["entropy_sd"][0] == 0.5
    assert v["highest_mean"][0] == -1.25 and v["gap_mean"][0] == -0.25 and v["gap_minimum"][0] == -0.5
    assert v["first_choices"][0] == 0.5 and v["boosted_mean"][0] == -1.25
    assert values(with_steps("-0.1 -2 -0.1", "-0.5"), steps=["highest"])["boosted_mean"][0] == -1.5
    assert all(np.isnan(v[name][1]) for name in ("entropy_mean", "highest_mean", "gap_mean", "boosted_mean"))
    plain, entropy = values(with_steps()), values(with_steps(), steps=["entropy"])
    assert not {"entropy_mean", "boosted_mean"} & plain.keys() and "boosted_mean" not in entropy
    assert Decoder(steps=["entropy"]).requires() == ("subwords", "token_log_probabilities", "token_entropies")


def test_an_empty_translation_and_a_silent_decoder() -> None:
    v = values(decoded(("", "-0.5"), ("", ""), model_score=("", "")))
    assert v["log_probability"][0] == -0.5 and v["mean"][0] == -0.5 and v["end"][0] == -0.5
    assert all(np.isnan(v[name][1]) for name in ("log_probability", "mean", "end", "model_score"))


def test_words_from_subwords_of_either_kind() -> None:
    bpe = DecoderTokens.from_segments(decoded(("New@@ York@@ er &amp; Co", "-1 -1 -1 -1 -1 -1")))
    assert bpe.words.words(0) == ["NewYorker", "&", "Co"]
    pieces = DecoderTokens.from_segments(decoded(("▁New ▁York er", "-1 -1 -1 -1")), "sentencepiece")
    assert pieces.words.words(0) == ["New", "Yorker"] and pieces.word_log_probability.tolist() == [-1, -2]


def test_marks_and_scripts_without_spaces() -> None:
    """Nepali vowel signs are marks (\\p{M}), not letters; Chinese subwords make one word."""
    v = values(decoded(("नेपा@@ ली ।", "-1 -2 -4 -1"), ("我@@ 们@@ 好", "-1 -1 -1 -1")))
    assert v["letters"] == [-3, -3] and v["punctuation"][0] == -4 and np.isnan(v["punctuation"][1])


@pytest.mark.parametrize(
    ("subwords", "target", "expected"),
    [
        ("Ha@@ us &quot; da", 'Haus " da', [0, 0, 1, 2]),
        ("don@@ 't", "do n't", [0, 1]),  # the tokenizer cuts elsewhere: by the first character
        ("a <unk> c", "a bcd c", [0, 1, 2]),
        ("„ so “", '" so "', [0, 1, 2]),
        ("a b", "", [-1, -1]),
    ],
)
def test_subwords_find_their_token(subwords: str, target: str, expected: list[int]) -> None:
    count = len(subwords.split()) + 1
    decoder = DecoderTokens.from_segments(decoded((subwords, " ".join(["-1"] * count))))
    assert decoder.token_index(tokens(target)).tolist() == expected


texts = st.lists(st.lists(st.floats(-20, 0), max_size=12), min_size=1, max_size=6)


@pytest.mark.slow
@given(texts, st.sampled_from([1, 2, 3, 5]), st.floats(0, 1))
def test_statistics_are_numpys(rows: list[list[float]], size: int, level: float) -> None:
    flat = np.array([v for row in rows for v in row], np.float64)
    offsets = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
    rising = ascending(flat, offsets)

    def each(function) -> list[float]:  # type: ignore[no-untyped-def]
        return [function(np.array(r)) if r else np.nan for r in rows]

    near = {"rtol": 1e-9, "atol": 1e-9, "equal_nan": True}
    np.testing.assert_allclose(
        quantile(rising, offsets, level), each(lambda r: np.quantile(r, level)), **near
    )
    np.testing.assert_allclose(deviation(flat, offsets), each(np.std), **near)
    np.testing.assert_allclose(
        lowest_mean(rising, offsets, size), each(lambda r: np.sort(r)[:size].mean()), **near
    )
    windows = each(
        lambda r: np.lib.stride_tricks.sliding_window_view(r, min(size, len(r))).mean(axis=1).min()
    )
    np.testing.assert_allclose(worst_window(flat, offsets, size), windows, **near)


@pytest.mark.parametrize(("pair", "correlation"), [("en-de", 0.249), ("ro-en", 0.640)])
def test_the_figures_of_mlqe_pe(pair: str, correlation: float, shared_data: Find) -> None:
    """Its README: the mean equals `model_scores` within 3e-5; Pearson of z_mean and model_scores on dev."""
    split = MlqePe(pair=pair).read(shared_data("mlqe-pe")).split("dev")
    columns = table(Decoder(), split.segments)
    assert np.abs(columns["decoder_mean"] - columns["decoder_model_score"]).max() < 3e-5
    assert split.scores is not None
    assert np.corrcoef(columns["decoder_mean"], split.scores)[0, 1] == pytest.approx(correlation, abs=5e-4)
    words = DecoderTokens.from_segments(split.segments).words
    same = [words.words(i) for i in range(len(words))]
    post = shared_data("mlqe-pe") / pair / "post-editing" / "dev" / "dev.mt"
    tokenised = [line.split() for line in Path(post).read_text("utf-8").split("\n")[:-1]]
    agreeing = np.mean([a == b for a, b in zip(same, tokenised, strict=True)])
    assert agreeing > 0.9


def test_a_join_at_the_end_does_not_reach_into_the_next_text() -> None:
    batch = DecoderTokens.from_segments(decoded(("a@@", "-1 -1"), ("b", "-2 -1")))
    assert [batch.words.words(i) for i in range(2)] == [["a"], ["b"]]
    assert batch.word_log_probability.tolist() == [-1, -2]


def test_runs() -> None:
    assert longest_run(np.array([True, True, False, True]), np.array([0, 1, 4])).tolist() == [1, 1]
