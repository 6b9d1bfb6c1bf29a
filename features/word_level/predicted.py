"""Columns of token tables: how well words are predicted by their sources and neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.threads import side_by_side
from features.core.segments import Segments, translated
from features.resources.aligner import Aligner
from features.resources.predictor import Predictions, Predictor
from features.text.corpus import ParallelCorpus
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


_HALVES: Final = 2
_EPOCHS: Final = 5
_FOLDER: Final = "text_predictor"


@dataclass(frozen=True, eq=False)
class TextPredictor:
    """Two predictors, each learned from the texts of one half of the training segments. A training segment is
    predicted by that of the other half; a new one has the mean of both.
    """

    predictors: tuple[Predictor, ...]

    @classmethod
    def fit(
        cls, segments: Segments, labels: Mapping[str, Any], texts: Sequence[str], aligner: Aligner
    ) -> "TextPredictor":
        sides = [translated(segments, name, tuple(labels[name])) for name in texts]
        half = _half(len(segments))

        def learned(k: int) -> Predictor:
            corpus = _corpus([side.take(np.flatnonzero(half == k)) for side in sides])
            return Predictor.build(corpus, aligner=aligner, epochs=_EPOCHS, seed=k)

        with threadpool_limits(1, "blas"):  # for both of them: each would lift the limit of the other
            return cls(tuple(side_by_side(learned, range(_HALVES))))

    def extended(
        self, table: TokenTable, segments: Segments, aligner: Aligner, *, is_training: bool
    ) -> TokenTable:
        """The table with the predictions of its words; `is_training`: these are the segments learned from."""
        values = (
            self._training_predictions(segments, aligner)
            if is_training
            else self._new_predictions(segments, aligner)
        )
        columns: Columns = {f"own_predicted_{name}": values[:, k] for k, name in enumerate(_NAMES)}
        return with_columns(table, columns, "own_predicted_")

    def _training_predictions(self, segments: Segments, aligner: Aligner) -> Floats:
        half = _half(len(segments))
        of_token = half[segments.target_tokens.text_index]
        result = np.empty((len(of_token), len(_NAMES)))
        for k in range(_HALVES):
            others = segments.take(np.flatnonzero(half != k))
            result[of_token != k] = prediction_columns(others, aligner, self.predictors[k])
        return result

    def _new_predictions(self, segments: Segments, aligner: Aligner) -> Floats:
        predicted = [prediction_columns(segments, aligner, p) for p in self.predictors]
        return np.asarray(np.mean(predicted, axis=0), np.float64)

    def save(self, path: Path) -> None:
        (path / _FOLDER).mkdir()
        for k, predictor in enumerate(self.predictors):
            (path / _FOLDER / str(k)).mkdir()
            predictor.save(path / _FOLDER / str(k))

    @classmethod
    def load(cls, path: Path) -> "TextPredictor | None":
        if not (path / _FOLDER).is_dir():
            return None
        predictors = tuple(Predictor.load(path / _FOLDER / str(k)) for k in range(_HALVES))
        for predictor in predictors:
            predictor.check_arrays()
        return cls(predictors)


def _half(n: int) -> NDArray[np.int64]:
    return np.asarray(np.arange(n) * _HALVES // max(n, 1), np.int64)


def _corpus(sides: Sequence[Segments]) -> ParallelCorpus:
    pairs = [(side.source_tokens, side.target_tokens) for side in sides]
    return ParallelCorpus.of_tokens(pairs, sides[0].source_tokenizer, sides[0].target_tokenizer)
