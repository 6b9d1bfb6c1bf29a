"""Negatives: spoilt training rows with the worst label, learned beside the real rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.core.segments import Segments
from qe.config.experiment import NegativesSection
from qe.data.dataset import LabelScale, Split
from qe.data.perturbation import names, perturbed
from qe.language.programs.made_columns import made_again
from qe.training.extraction import Extraction
from qe.training.repeated_sources import unrepeated


@dataclass(frozen=True, eq=False)
class Negatives:
    """How rows are spoilt: made anew of the training rows of each fold, and never held out."""

    section: NegativesSection
    scale: LabelScale
    seed: int
    made_columns: Mapping[str, str] = field(default_factory=dict)

    def of(self, first: Split, fitting: Split, extraction: Extraction) -> "NegativeRows":
        """Spoilt rows of `first`.

        Their features come from families fitted on `fitting`, which has no spoilt rows.
        """
        spoilt, rows = self.spoilt(first.segments)
        table = extraction.scored(fitting, spoilt)
        sources = tuple(first.segments.source[row] for row in rows.tolist())
        return NegativeRows(sources, rows, table, self.scale)

    def spoilt(self, segments: Segments) -> tuple[Segments, NDArray[np.int64]]:
        """Spoilt rows, of each kind as many or one more, and the rows that they were made of."""
        kinds, rng = self.section.kinds or names("destroying"), np.random.default_rng(self.seed)
        wanted = max(1, round(self.section.share * len(segments)))
        counts = np.bincount(np.resize(rng.permutation(len(kinds)), wanted), minlength=len(kinds))
        drawn = [np.sort(rng.permutation(len(segments))[:count]).tolist() for count in counts.tolist()]
        made = [perturbed(segments, kind, self.seed, some) for kind, some in zip(kinds, drawn, strict=True)]
        named = [
            replace(spoilt, id=tuple(f"{kind} {name}" for name in spoilt.id))
            for kind, (spoilt, _) in zip(kinds, made, strict=True)
        ]
        spoilt = made_again(Segments.concatenate(named), self.made_columns)
        return spoilt, np.concatenate([rows for _, rows in made])


@dataclass(frozen=True, eq=False)
class NegativeRows:
    """Spoilt rows with their features (m, k) in a fold.

    sources  (m,) sources of the rows that they were made of
    rows     (m,) places of these rows among the training rows of the fold
    """

    sources: tuple[str, ...]
    rows: NDArray[np.int64]
    table: pd.DataFrame
    scale: LabelScale

    def without(self, held_out: Segments) -> "NegativeRows":
        """Only those that were made of rows with other sources."""
        kept = unrepeated(self.sources, held_out.source)
        sources = tuple(self.sources[row] for row in kept.tolist())
        return NegativeRows(sources, self.rows[kept], self.table.iloc[kept], self.scale)

    def labels(self, gold: FloatArray) -> FloatArray:
        """(m,) the worst of the labels that are learned of the real rows."""
        return np.full(len(self.rows), gold.min() if self.scale.higher_is_better else gold.max())

    @property
    def weights(self) -> FloatArray:
        """(m,) they count as real rows."""
        return np.ones(len(self.rows))

    def features(self, own: pd.DataFrame) -> pd.DataFrame:
        """(m, k)"""
        return self.table
