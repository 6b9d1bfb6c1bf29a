"""What the decoder said of words: its columns by hand."""

import numpy as np

from features.core.segments import Segments
from features.decoder_output.tokens import DecoderTokens, SubwordMeans
from features.knowledge.kinds import GAP_COLUMNS, decoder_columns
from features.text.tokens import Tokens


def test_columns_of_tokens_by_hand() -> None:
    segments = Segments(
        ("x", "x"),
        ("Haus da", "gut"),
        subwords=("Ha@@ us da", "gut"),
        token_log_probabilities=("-1 -3 -2 -0.5", "-4 -0.25"),
    )
    decoder = DecoderTokens.from_segments(segments)
    means = SubwordMeans.fit(decoder)
    tokens = Tokens.from_lists([["Haus", "da", "!"], ["gut"]])  # the decoder never wrote the `!`
    columns = decoder_columns(tokens, decoder, means, is_training=False)
    unknown = np.nan
    expected = {
        "decoder_sum": [-4, -2, unknown, -4],
        "decoder_first": [-1, -2, unknown, -4],
        "decoder_minimum": [-3, -2, unknown, -4],
        "decoder_pieces": [2, 1, 0, 1],
        "decoder_rank": [0, 1 / 3, unknown, 0],
        "decoder_end": [-0.5, -0.5, -0.5, -0.25],
        "decoder_sum_-1": [unknown, -4, -2, unknown],
        "decoder_sum_+1": [-2, unknown, unknown, unknown],
        "decoder_text_mean": [-2, -2, -2, -4],
        "decoder_window": [-3, -3, -2, -4],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(columns[name], values, equal_nan=True, err_msg=name)
    residuals = means.residuals(decoder)
    np.testing.assert_allclose(columns["decoder_residual"][[0, 3]], [residuals[:2].sum(), residuals[3]])
    assert set(GAP_COLUMNS) <= set(columns)
    assert all(len(column) == 4 for column in columns.values())
