"""The distribution folder of the WMT 2012 quality estimation task (English to Spanish)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from features.basics.errors import InputError
from qe.data.dataset import Dataset
from qe.data.format import Format
from qe.data.formats.parallel_text import ParallelText
from qe.data.reading import Reading

_ANNOTATIONS = "training_set_annotations"
_TRAIN = {
    "source": "training_set/source.eng",
    "target": "training_set/target_system.spa",
    "post_edit": f"{_ANNOTATIONS}/target_postedited.spa",
    "reference": f"{_ANNOTATIONS}/target_reference.spa",
    "judges": f"{_ANNOTATIONS}/target_system.effort3scores",
    "weights": f"{_ANNOTATIONS}/target_system.effort3weights",
}
_TEST = {"source": "test_set/source.eng", "target": "test_set/target_system.spa"}


@dataclass(frozen=True)
class Wmt12(Format):
    """Splits `train` (1832 segments) and `test` (422, blind).

    Every file is required, but a folder without `test_set` has only the split `train`.

    Source: Callison-Burch et al. 2012, "Findings of the 2012 Workshop on Statistical Machine Translation", 6.

    Parameters
    ----------
    label : {'effort', 'hter'}, default='effort'
        `effort`: weighted mean of three judges, 1 (translate again) .. 5 (no edit), higher is better;
        `hter`: computed from the post-edits, 0 .., lower is better (the judges keep their effort scores).
    """

    label: Literal["effort", "hter"] = "effort"

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return (path / "training_set").is_dir()

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        if not (path / "training_set").is_dir():
            raise InputError(
                "no folder training_set here", location=path, remedy="give the folder of the distribution"
            )
        hter = self.label == "hter"
        train = _TRAIN if hter else {**_TRAIN, "scores": f"{_ANNOTATIONS}/target_system.effort"}
        splits = {"train": train, "test": _TEST} if (path / "test_set").is_dir() else {"train": train}
        effort = {"name": "effort", "low": 1, "high": 5, "higher_is_better": True}
        return ParallelText(splits, "hter" if hter else effort, "en", "es").read_with(reading, path)
