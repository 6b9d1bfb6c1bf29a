"""The label as ridge regression predicts it from the words, or the letters, of a text alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Positive
from features.comparisons.bags import BagRegression, View, characters, words
from features.core.extractor import Feature, FittedExtractor
from features.core.segments import Segments

_ORIGIN: Final = "this project: feasibility study on MLQE-PE (bag-of-words ridge)"
_VIEWS: Final[tuple[tuple[str, str, View], ...]] = (
    ("words", "words and pairs of neighbours", words),
    ("characters", "2 to 4 letters in a row", characters),
)
_SIDES: Final = ("source", "target")


@dataclass(frozen=True, eq=False)
class BagOfWords(FittedExtractor):
    """The label predicted by ridge regression on tf-idf n-grams.

    N-grams of words or of letters, of the source or of the target.

    penalty  of the squared coefficients (rows have length 1)
    minimum  training texts that an n-gram must occur in

    Rows are weighted by the number of annotators where the training data says it. An empty text gets NaN.
    """

    plain: ClassVar[str] = "which words the {text} has"

    penalty: Positive = 3.0
    minimum: Count = 2
    models: Mapping[str, BagRegression] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.penalty > 0:
            raise InputError(f"`penalty` must be above 0, but got {self.penalty}")

    @property
    def features(self) -> Sequence[Feature]:
        return [
            Feature(f"bag_of_words_{side}_{name}",
                f"label predicted from the {side}'s {what}; undefined for an empty text", _ORIGIN,
                "as the label")
            for side in _SIDES
            for name, what, _ in _VIEWS
        ]  # fmt: skip

    def labels_used(self) -> tuple[str, ...]:
        return ("scores",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        scores = np.asarray(labels["scores"], np.float64)
        weights = np.asarray(labels.get("annotators", np.ones(len(scores))), np.float64)
        return self.with_learned(
            models={
                f"{side}_{name}": BagRegression.fit(
                    view(getattr(segments, f"{side}_tokens")),
                    scores,
                    weights / weights.mean(),
                    penalty=self.penalty,
                    minimum=self.minimum,
                )
                for side in _SIDES
                for name, _, view in _VIEWS
            }
        )

    def extract(self, segments: Segments) -> FloatArray:
        models, columns = self.learned(self.models), []
        for side in _SIDES:
            tokens = getattr(segments, f"{side}_tokens")
            for name, _, view in _VIEWS:
                predicted = models[f"{side}_{name}"].predict(view(tokens))
                columns.append(np.where(tokens.lengths > 0, predicted, np.nan))
        return np.column_stack(columns)

    def save(self, path: Path) -> None:
        for name, model in self.learned(self.models).items():
            model.save(path / name)

    def restore(self, path: Path) -> Self:
        names = [f"{side}_{name}" for side in _SIDES for name, _, _ in _VIEWS]
        return self.with_learned(models={name: BagRegression.load(path / name) for name in names})
