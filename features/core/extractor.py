"""Extractor: names + extract(segments) -> float64 array. Think twice before adding here."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from features.core.segments import Segments

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Feature:
    """One column: its stable name, one-line description, source (paper and section), unit."""

    name: str
    description: str
    origin: str
    unit: str


class Extractor(ABC):
    """Turns segments into features; subclasses are dataclasses of their parameters and resources.

    A field annotated with a Resource class is filled with the loaded part of that name from the bundle.
    A feature that is undefined for a segment is NaN; its description says when.
    """

    @property
    @abstractmethod
    def features(self) -> Sequence[Feature]:
        """The columns, in order; never needs the segments."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @abstractmethod
    def extract(self, segments: Segments) -> FloatArray:
        """(n_segments, n_features) float64."""

    def requires(self) -> tuple[str, ...]:
        """Optional columns of Segments that this extractor cannot do without."""
        return ()

    def content_fingerprint(self) -> str:
        """Identifies what the values depend on beside parameters and resources (files it reads itself)."""
        return ""


class FittedExtractor(Extractor):
    """An extractor that learns from labels: fitted inside each fold, cross-fitted on the training rows."""

    @abstractmethod
    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """A fitted copy. `labels` holds label columns (`scores`, `post_edit`, ...), one entry per segment."""

    @abstractmethod
    def labels_used(self) -> tuple[str, ...]:
        """The label columns that `fit` needs."""

    @abstractmethod
    def save(self, path: Any) -> None:
        """Writes what was learned into the directory `path`, without pickle."""

    @abstractmethod
    def restore(self, path: Any) -> Self:
        """A fitted copy from what `save` wrote."""
