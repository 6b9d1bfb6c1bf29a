"""Predicted words: token tables with how well each word is predicted by its source and its neighbours."""

from dataclasses import replace

import numpy as np

from features._word_quality.columns import Columns, matrix, shifted
from features._word_quality.keys import gap_sides
from features._word_quality.tokens import TokenTable
from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.predictor import Predictor

_OF_GAPS = ("predicted_log", "predicted_margin", "predicted_entropy")


def with_predictions(
    table: TokenTable, segments: Segments, aligner: Aligner, predictor: Predictor
) -> TokenTable:
    """The table with log-probability, rank, margin and entropy of each word, and those of its neighbours."""
    source, target = segments.source_tokens, segments.target_tokens
    predicted = predictor.predict(source, target, aligner.align(source, target, "source-target", batch=500))
    own: Columns = {
        "predicted_log": predicted.log_probability,
        "predicted_rank": predicted.rank,
        "predicted_margin": predicted.margin,
        "predicted_entropy": predicted.entropy,
        "predicted_surprise": predicted.log_probability + predicted.entropy,
    }
    words: Columns = dict(own)
    for name in ("predicted_log", "predicted_margin"):
        for by in (-1, 1):
            words[f"{name}{by:+d}"] = shifted(own[name], table.offsets, by)
    gaps: Columns = {}
    for name in _OF_GAPS:
        values = np.asarray(own[name], np.float64)
        gaps[f"left_{name}"], gaps[f"right_{name}"] = gap_sides(values, table.offsets, np.nan)
    return replace(
        table,
        word_names=(*table.word_names, *words),
        gap_names=(*table.gap_names, *gaps),
        words=np.hstack([table.words, matrix(words, len(table.words))]),
        gaps=np.hstack([table.gaps, matrix(gaps, len(table.gaps))]),
    )
