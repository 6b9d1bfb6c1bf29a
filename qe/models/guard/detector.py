"""Detector: boosted trees that distinguish corrupted translations from real ones."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np

from features.basics.array_types import FloatArray
from features.storage.boosted_trees import check_trees
from features.storage.damage import Damaged, typed
from features.word_level.trees import TreeWalks
from qe.models.guard.columns import COLUMNS

_ROUNDS: Final = 150
_SETTINGS: Final = {
    "objective": "binary", "num_leaves": 15, "learning_rate": 0.1, "min_child_samples": 10, "max_bin": 127,
    "feature_fraction": 0.5, "verbose": -1, "deterministic": True, "force_row_wise": True,
    "num_threads": 1,  # several fits run in parallel
}  # fmt: skip
_REFERENCE_ROWS: Final = 2_000
_EXTREME: Final = 3  # number of most unusual signs that are added up
_USUAL: Final = 0.99


@dataclass(frozen=True, eq=False)
class Detector:
    """Boosted trees (LightGBM's text) that classify rows as real or corrupted by their signs."""

    trees: str
    reference: FloatArray

    @classmethod
    def fit(cls, real: FloatArray, rubbish: FloatArray, seed: int) -> Self:
        """Fits (n, columns) signs of real and (m, columns) of corrupted translations, weighted equally."""
        import lightgbm

        ordered = np.sort(real, axis=0)
        if len(ordered) > _REFERENCE_ROWS:
            ordered = ordered[np.linspace(0, len(ordered) - 1, _REFERENCE_ROWS).round().astype(np.int64)]
        reference = ordered.T.copy()
        unfitted = cls("", reference)
        rows = np.concatenate([unfitted.inputs(real), unfitted.inputs(rubbish)])
        labels = np.repeat([0.0, 1.0], [len(real), len(rubbish)])
        weights = np.repeat([1.0, len(real) / max(len(rubbish), 1)], [len(real), len(rubbish)])
        settings = {
            **_SETTINGS, "seed": seed, "monotone_constraints": [1] * rows.shape[1],
        }  # fmt: skip
        booster = lightgbm.train(settings, lightgbm.Dataset(rows, labels, weight=weights), _ROUNDS)
        return cls(booster.model_to_string(), reference)

    def inputs(self, signs: FloatArray) -> FloatArray:
        """Inputs (n, columns + 2): the signs, the worst sign's excess, the sum of the most unusual signs."""
        unusual = self.unusual(signs)
        beyond = np.maximum((signs - self._usual) / self._spread, 0).max(axis=1, initial=0)
        together = np.sort(unusual, axis=1)[:, -_EXTREME:].sum(axis=1)
        return np.column_stack([signs, beyond, together])

    def unusual(self, signs: FloatArray) -> FloatArray:
        """-log10 (n, columns) of the share of translations whose sign is at least as large."""
        m = self.reference.shape[1]
        columns = zip(self.reference, signs.T, strict=True)
        larger = [m - np.searchsorted(known, values, side="left") for known, values in columns]
        return np.asarray(-np.log10((np.column_stack(larger) + 0.5) / (m + 1)))

    @cached_property
    def _usual(self) -> FloatArray:
        return np.asarray(np.quantile(self.reference, _USUAL, axis=1))

    @cached_property
    def _spread(self) -> FloatArray:
        return np.asarray(np.maximum(self._usual - np.median(self.reference, axis=1), 1e-3))

    @cached_property
    def walks(self) -> TreeWalks:
        return TreeWalks.from_text(self.trees)

    def decide(self, signs: FloatArray) -> FloatArray:
        """Log-odds (n,) of corrupted against real translations, at equal base rates."""
        return self.walks.sums(self.inputs(signs).astype(np.float32))

    def check_arrays(self) -> None:
        check_trees(self.trees)
        typed("reference", self.reference, np.float64, len(COLUMNS), None)
        if self.walks.width != len(COLUMNS) + 2 or not self.reference.shape[1]:
            raise Damaged(f"the guard's trees take {self.walks.width} columns, not {len(COLUMNS) + 2}")
