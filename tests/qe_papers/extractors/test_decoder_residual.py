"""Residuals of decoder log-probabilities: by hand, and the laws that keep them honest."""

from pathlib import Path

import numpy as np
import pytest

from features.core.segments import Segments
from features.decoder_output.tokens import PRIOR, DecoderTokens, SubwordMeans
from features.storage.damage import Damaged
from qe_papers.extractors.forced_decoding import DecoderResidual
from tests.factories import refuses

SPOKEN = (("a b a", "-1 -4 -3 -0.1"), ("a c@@ b", "-2 -5 -3 -0.1"))


def segments(*rows: tuple[str, str]) -> Segments:
    n = len(rows)
    columns = {"subwords": tuple(s for s, _ in rows), "token_log_probabilities": tuple(p for _, p in rows)}
    return Segments(("x",) * n, ("y",) * n, **columns)


def test_means_are_smoothed_towards_the_overall_mean() -> None:
    means = SubwordMeans.fit(DecoderTokens.from_segments(segments(*SPOKEN)))
    assert means.mean == -3
    new = DecoderTokens.from_segments(segments(("a d", "-1 -1 -1")))
    expected = [-1 - (-6 - 3 * PRIOR) / (3 + PRIOR), -1 - (-3)]  # an unknown subword has the overall mean
    assert means.residuals(new).tolist() == pytest.approx(expected)
    assert means.log_counts(new).tolist() == pytest.approx([np.log(4), 0])


def test_a_text_learned_from_is_left_out_of_its_own_means() -> None:
    spoken = DecoderTokens.from_segments(segments(*SPOKEN))
    means = SubwordMeans.fit(spoken)
    own = means.residuals(spoken, leave_one_out=True)
    # `a` of the first text: only the second text's -2 speaks for it; `c@@` occurs in its own text alone
    assert own[0] == pytest.approx(-1 - (-2 - 3 * PRIOR) / (1 + PRIOR))
    assert own[4] == pytest.approx(-5 - (-3))


def test_columns_by_hand() -> None:
    extractor = DecoderResidual().fit(segments(*SPOKEN), {})
    values = dict(
        zip(extractor.names, extractor.extract(segments(("d@@ e", "-1 -7 -1"), ("", "-1"))).T, strict=True)
    )
    prefix = "decoder_residual_"
    assert values[prefix + "mean"][0] == -1 and values[prefix + "minimum"][0] == -4
    assert values[prefix + "word_minimum"][0] == -2 and values[prefix + "unseen"][0] == 1
    assert np.isnan(extractor.extract(segments(("", "-1")))).all()


def test_counts_below_nothing_are_damage(tmp_path: Path) -> None:
    SubwordMeans(("a", "b"), np.array([-1.0, -2.0]), np.array([1.0, 2.0])).save(tmp_path)
    assert SubwordMeans.load(tmp_path).counts.tolist() == [1, 2]
    SubwordMeans(("a", "b"), np.array([-1.0, -2.0]), np.array([1.0, -1.0])).save(tmp_path)
    refuses("`subwords` must hold numbers from 0", SubwordMeans.load, tmp_path, error=Damaged)
