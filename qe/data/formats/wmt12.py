"""The distribution folder of the WMT 2012 quality estimation task (English to Spanish)."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from features.basics.errors import InputError
from qe.data.dataset import Dataset
from qe.data.format import Example, Format
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
        `effort`: weighted mean of three judges, 1 (translate anew) .. 5 (leave it), higher is better;
        `hter`: computed from the post-edits, 0 .., lower is better (the judges keep their effort scores).
    """

    example: ClassVar[Example] = Example(
        section="""dataset:
  format: wmt12
  path: wmt12-qe
  label: effort
""",
        files={
            "wmt12-qe/training_set/source.eng": "the red house\n",
            "wmt12-qe/training_set/target_system.spa": "la casa rojo\n",
            f"wmt12-qe/{_ANNOTATIONS}/target_postedited.spa": "la casa roja\n",
            f"wmt12-qe/{_ANNOTATIONS}/target_reference.spa": "la casa roja\n",
            f"wmt12-qe/{_ANNOTATIONS}/target_system.effort": "4.17\n",
            f"wmt12-qe/{_ANNOTATIONS}/target_system.effort3scores": "4\t4\t5\n",
            f"wmt12-qe/{_ANNOTATIONS}/target_system.effort3weights": "2.5\t2.5\t1\n",
            "wmt12-qe/test_set/source.eng": "the dog sleeps\n",
            "wmt12-qe/test_set/target_system.spa": "el perro duerme\n",
        },
    )

    label: Literal["effort", "hter"] = "effort"

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return (path / "training_set").is_dir()

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        if self.label not in ("effort", "hter"):
            raise InputError(
                f"unknown label '{self.label}'", location="dataset.label", remedy="known: effort, hter"
            )
        if not (path / "training_set").is_dir():
            raise InputError(
                "no folder training_set here", location=path, remedy="give the folder of the distribution"
            )
        hter = self.label == "hter"
        train = _TRAIN if hter else {**_TRAIN, "scores": f"{_ANNOTATIONS}/target_system.effort"}
        splits = {"train": train, "test": _TEST} if (path / "test_set").is_dir() else {"train": train}
        effort = {"name": "effort", "low": 1, "high": 5, "higher_is_better": True}
        return ParallelText(splits, "hter" if hter else effort, "en", "es").read_with(reading, path)
