"""Language model and frequency columns of both sides."""

import numpy as np

from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.ngrams import NgramCounts
from features.text.tokens import Tokens, segment_mean, segment_min
from features.word_level.columns import Columns, Floats, prefixed, shifted, spread, values_at
from features.word_level.links import TokenLinks


def language_columns(
    tokens: Tokens, forward: LanguageModel, backward: LanguageModel | None, counts: NgramCounts
) -> Columns:
    scores = forward.score(tokens)
    log10, matched = scores.token_log10, scores.token_matched.astype(np.float64)
    frequency = np.log10(1.0 + counts.counts(tokens, 1)[0])
    columns: Columns = {
        "lm": log10,
        "lm_next": shifted(log10, tokens.offsets, 1),
        "lm_previous": shifted(log10, tokens.offsets, -1),
        "matched": matched,
        "matched_next": shifted(matched, tokens.offsets, 1),
        "frequency": frequency,
        "frequency_next": shifted(frequency, tokens.offsets, 1),
        "frequency_previous": shifted(frequency, tokens.offsets, -1),
        "lm_mean": spread(segment_mean(log10, tokens.offsets), tokens.offsets),
        "lm_lowest": spread(segment_min(log10, tokens.offsets), tokens.offsets),
    }
    if backward is not None:
        columns |= _backward(tokens, backward, log10)
    return columns


def _backward(tokens: Tokens, model: LanguageModel, forward: Floats) -> Columns:
    scores = model.score(tokens)
    log10, matched = scores.token_log10, scores.token_matched.astype(np.float64)
    return {
        "backward": log10,
        "backward_matched": matched,
        "backward_previous": shifted(log10, tokens.offsets, -1),
        "both": log10 + forward,
    }


def source_columns(
    segments: Segments, links: TokenLinks, model: LanguageModel, counts: NgramCounts
) -> Columns:
    tokens = segments.source_tokens
    columns = language_columns(tokens, model, None, counts)
    mean = segment_mean(model.score(tokens).token_log10, tokens.offsets)
    projected_columns = {
        name: values_at(column, links.best) for name, column in columns.items() if name != "lm_mean"
    }
    return prefixed("source_", {**projected_columns, "lm_mean": spread(mean, segments.target_tokens.offsets)})
