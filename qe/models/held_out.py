"""HeldOutPredictions: labels and predictions of rows that the model had not seen."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.storage.arrays import finite, typed
from features.storage.damage import damage_reported
from qe.models.description import REMEDY

FILE = "held_out.npy"


@dataclass(frozen=True, eq=False)
class HeldOutPredictions:
    """(n,) gold labels and (n,) predictions of rows that the model had not seen.

    They are training rows predicted out of fold, or the calibration split.
    """

    gold: FloatArray
    predicted: FloatArray

    @classmethod
    def make(cls, gold: FloatArray, predicted: FloatArray) -> Self:
        """From rows where both are defined."""
        both = np.isfinite(gold) & np.isfinite(predicted)
        return cls(gold[both], predicted[both])

    def save(self, folder: Path) -> None:
        np.save(folder / FILE, np.column_stack([self.gold, self.predicted]), allow_pickle=False)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether the model of that folder was trained with it."""
        return (folder / FILE).is_file()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Loads held-out rows.

        Raises InputError for a model trained without them, or damage.
        """
        path = folder / FILE
        if not cls.exists(folder):
            raise InputError(
                "the model holds no labels with predictions of rows that it had not seen",
                location=folder,
                remedy="train it again",
            )
        with damage_reported("the table of held-out predictions", path, REMEDY):
            table = np.load(path, allow_pickle=False)
            typed(FILE, table, np.float64, None, 2)
            finite(FILE, table)
        return cls(table[:, 0], table[:, 1])
