"""A family that learns next to nothing, so that what it was fitted on can be told from its values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from features import Feature, FittedExtractor, Segments
from features.basics.array_types import FloatArray


@dataclass(frozen=True)
class Mean(FittedExtractor):
    """The mean label of the rows it was fitted on; counts its fits."""

    fits: list[int] = field(default_factory=list)
    mean: float = np.nan

    @property
    def features(self) -> list[Feature]:
        return [Feature("mean", "mean label", "test", "label")]

    def labels_used(self) -> tuple[str, ...]:
        return ("scores",)

    def fit(self, segments: Segments, labels: Mapping[str, Any]) -> Self:
        self.fits.append(len(segments))
        return replace(self, mean=float(np.mean(labels["scores"])))

    def extract(self, segments: Segments) -> FloatArray:
        return np.full((len(segments), 1), self.mean)

    def save(self, path: Path) -> None:
        (path / "mean.txt").write_text(str(self.mean))

    def restore(self, path: Path) -> Self:
        return replace(self, mean=float((path / "mean.txt").read_text()))
