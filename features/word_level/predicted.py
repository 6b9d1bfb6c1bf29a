"""PredictorKnowledge: token tables with how well each word is predicted by its source and its neighbours."""

from dataclasses import dataclass, field, replace

import numpy as np

from features.core.segments import Segments
from features.resources.aligner import Aligner
from features.resources.predictor import Predictions, Predictor
from features.word_level.columns import Columns, Floats, matrix, shifted
from features.word_level.keys import gap_sides
from features.word_level.tokens import Knowledge, TokenTable

_NAMES = ("log", "rank", "margin", "entropy")


@dataclass(frozen=True, eq=False)
class PredictorKnowledge(Knowledge):
    """Resources that words are looked up in, and networks that predict them beside these."""

    predictor: Predictor = field(kw_only=True)

    def described(self, segments: Segments, use: frozenset[str]) -> TokenTable:
        return with_predictions(super().described(segments, use), segments, self.aligner, self.predictor)


@dataclass(frozen=True, eq=False)
class PredictorVectorsKnowledge(PredictorKnowledge):
    """The same, and the vector of each word: what every hidden unit of the network says for it."""

    def described(self, segments: Segments, use: frozenset[str]) -> TokenTable:
        table = super().described(segments, use)
        predicted = _predicted(segments, self.aligner, self.predictor)
        vectors = self.predictor.evidence(segments.target_tokens, predicted)
        names = (f"predicted_vector_{k}" for k in range(vectors.shape[1]))
        return replace(table, word_names=(*table.word_names, *names), words=np.hstack([table.words, vectors]))


def with_predictions(
    table: TokenTable, segments: Segments, aligner: Aligner, predictor: Predictor
) -> TokenTable:
    """The table with log-probability, rank, margin and entropy of each word, and those of its neighbours."""
    values = prediction_columns(segments, aligner, predictor)
    columns: Columns = {f"predicted_{name}": values[:, k] for k, name in enumerate(_NAMES)}
    return with_columns(table, columns, "predicted_")


def prediction_columns(segments: Segments, aligner: Aligner, predictor: Predictor) -> Floats:
    """(n_target_tokens, 4) log-probability, rank, margin, entropy."""
    predicted = _predicted(segments, aligner, predictor)
    columns = (predicted.log_probability, predicted.rank, predicted.margin, predicted.entropy)
    return np.column_stack(columns)


def _predicted(segments: Segments, aligner: Aligner, predictor: Predictor) -> Predictions:
    source, target = segments.source_tokens, segments.target_tokens
    return predictor.predict(source, target, aligner.align(source, target, "source-target", batch=500))


def with_columns(table: TokenTable, own: Columns, prefix: str) -> TokenTable:
    """The table with predictions of its words under names with a prefix, and with their neighbours'."""
    words: Columns = {**own, f"{prefix}surprise": own[f"{prefix}log"] + own[f"{prefix}entropy"]}
    for name in ("log", "margin"):
        for by in (-1, 1):
            words[f"{prefix}{name}{by:+d}"] = shifted(own[f"{prefix}{name}"], table.offsets, by)
    gaps: Columns = {}
    for name in ("log", "margin", "entropy"):
        sides = gap_sides(np.asarray(own[f"{prefix}{name}"], np.float64), table.offsets, np.nan)
        gaps[f"left_{prefix}{name}"], gaps[f"right_{prefix}{name}"] = sides
    return replace(
        table,
        word_names=(*table.word_names, *words),
        gap_names=(*table.gap_names, *gaps),
        words=np.hstack([table.words, matrix(words, len(table.words))]),
        gaps=np.hstack([table.gaps, matrix(gaps, len(table.gaps))]),
    )
