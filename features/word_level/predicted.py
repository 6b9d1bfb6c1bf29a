"""Columns of token tables: how well each word is predicted by its source and its neighbours."""

import numpy as np

from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.predictor import Predictions, Predictor
from features.word_level.columns import Columns, Floats, shifted
from features.word_level.tokens import TokenTable

_NAMES = ("log", "rank", "margin", "entropy")


def with_predictions(
    table: TokenTable, segments: Segments, aligner: Aligner, predictor: Predictor
) -> TokenTable:
    values = prediction_columns(segments, aligner, predictor)
    columns: Columns = {f"predicted_{name}": values[:, k] for k, name in enumerate(_NAMES)}
    return with_columns(table, columns, "predicted_")


def prediction_columns(segments: Segments, aligner: Aligner, predictor: Predictor) -> Floats:
    said = predicted(segments, aligner, predictor)
    columns = (said.log_probability, said.rank, said.margin, said.entropy)
    return np.column_stack(columns)


def predicted(segments: Segments, aligner: Aligner, predictor: Predictor) -> Predictions:
    source, target = segments.source_tokens, segments.target_tokens
    return predictor.predict(source, target, aligner.align(source, target, "source-target", batch=500))


def with_columns(table: TokenTable, columns: Columns, prefix: str) -> TokenTable:
    words: Columns = {**columns, f"{prefix}surprise": columns[f"{prefix}log"] + columns[f"{prefix}entropy"]}
    for name in ("log", "margin"):
        for by in (-1, 1):
            words[f"{prefix}{name}{by:+d}"] = shifted(columns[f"{prefix}{name}"], table.offsets, by)
    neighbour_keys = {f"{prefix}{name}": columns[f"{prefix}{name}"] for name in ("log", "margin", "entropy")}
    return table.with_columns(words, table.beside_gaps(neighbour_keys))
