"""Chooser: prefers one system's translation of a segment."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from features.basics.catalogue import Catalogue
from qe.systems.documents import document_means


@dataclass(frozen=True, eq=False)
class Outputs:
    """What S systems made of the same n segments.

    features    per system, an (n, k) table with the same columns
    statistics  (S, n, 10) of Bleu; if there are no references, `without_reference` of them
    agreement   (S,) BLEU of each system's whole text against the other systems' outputs; empty if not known
    """

    features: tuple[pd.DataFrame, ...]
    statistics: FloatArray
    agreement: FloatArray = field(default_factory=lambda: np.zeros(0))


class Chooser(ABC):
    """Chooses the best system's output without references. It learns from outputs with references.

    Attributes
    ----------
    predicts_bleu : bool
        Whether document preferences are predicted BLEU scores.
    """

    predicts_bleu: ClassVar[bool] = False

    @abstractmethod
    def fit(self, outputs: Outputs) -> Self:
        """Return a fitted chooser. Segments that all systems translate equally well by BLEU may teach
        nothing.
        """

    @abstractmethod
    def preferences(self, outputs: Outputs) -> FloatArray:
        """(S, n) the highest is chosen."""

    def document_preferences(self, outputs: Outputs, documents: Sequence[str]) -> FloatArray:
        """(S, d) preferences of systems for whole documents. They are means over segments, weighted by
        length in words.
        """
        rows = zip(self.preferences(outputs), outputs.statistics[..., 0], strict=True)
        return np.stack([document_means(row, documents, weights) for row, weights in rows])


CHOOSERS: Catalogue[Chooser] = Catalogue("qe_papers.choosers", Chooser, "method")
