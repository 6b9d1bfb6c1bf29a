"""Tuple columns: how common each word is as translation of its source word in context.

The context is its neighbours before it.
"""

import numpy as np

from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.tuple_lm import TupleLM
from features.word_level.columns import Columns, shifted


def tuple_columns(segments: Segments, aligner: Aligner, model: TupleLM) -> Columns:
    source, target = segments.source_tokens, segments.target_tokens
    scores = model.score(source, target, aligner.align(source, target, "source-target", batch=500))
    log10, matched = scores.token_log10, scores.token_matched.astype(np.float64)
    return {
        "tuple": log10,
        "tuple_matched": matched,
        "tuple_next": shifted(log10, target.offsets, 1),
        "tuple_matched_next": shifted(matched, target.offsets, 1),
    }
