"""A family fitted on all rows: read from the cache the next time, and refused once a file has changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.extractor import Feature, FittedExtractor
from features.core.feature_set import FeatureSet
from features.core.segments import Segments
from qe.data.dataset import Split
from qe.training.extraction import Extraction


@dataclass(frozen=True)
class _Highest(FittedExtractor):
    """The highest label of the rows it was fitted on; counts its fits."""

    fits: list[int] = field(default_factory=list)
    highest: float = np.nan

    @property
    def features(self) -> list[Feature]:
        return [Feature("highest", "highest label", "test", "label")]

    def labels_used(self) -> tuple[str, ...]:
        return ("scores",)

    def fit(self, segments: Segments, labels: Mapping[str, Any]) -> Self:
        self.fits.append(len(segments))
        return replace(self, highest=float(np.max(labels["scores"])))

    def extract(self, segments: Segments) -> FloatArray:
        return np.full((len(segments), 1), self.highest)

    def save(self, path: Path) -> None:
        (path / "highest.txt").write_text(str(self.highest))
        (path / "encoder.bin").write_bytes(bytes(1 << 20))

    def restore(self, path: Path) -> Self:
        return replace(self, highest=float((path / "highest.txt").read_text()))


TEXTS = ("a", "b", "c")
SPLIT = Split(Segments(TEXTS, TEXTS, id=TEXTS), scores=np.array([1.0, 5.0, 2.0]))


def fitted(cache: Path | None, split: Split = SPLIT) -> _Highest:
    """By an extraction that knows nothing of others but the cache."""
    feature_set = FeatureSet(({"kind": "highest"},), (_Highest(),))
    made = Extraction(feature_set, cache).fitted_extractors(split).extractors[0]
    assert isinstance(made, _Highest)
    return made


def test_the_same_rows_are_learned_from_once(tmp_path: Path) -> None:
    first, second = fitted(tmp_path), fitted(tmp_path)
    assert (first.fits, second.fits) == ([3], [])
    assert first.highest == second.highest == 5.0


def test_other_labels_are_learned_anew(tmp_path: Path) -> None:
    fitted(tmp_path)
    other = fitted(tmp_path, replace(SPLIT, scores=np.array([1.0, 4.0, 2.0])))
    assert (other.fits, other.highest) == ([3], 4.0)


def test_without_a_cache_every_run_learns() -> None:
    assert fitted(None).fits == fitted(None).fits == [3]


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    fitted(tmp_path)
    (file,) = tmp_path.glob("fitted/*/highest.txt")
    file.write_text("6.0")
    with pytest.raises(InputError, match=r"highest\.txt has changed.*delete this folder"):
        fitted(tmp_path)


def test_large_files_that_are_equal_take_space_once(tmp_path: Path) -> None:
    fitted(tmp_path)
    fitted(tmp_path, replace(SPLIT, scores=np.array([1.0, 4.0, 2.0])))
    one, other = sorted(tmp_path.glob("fitted/*/encoder.bin"))
    assert one.samefile(other)
    one, other = sorted(tmp_path.glob("fitted/*/highest.txt"))
    assert not one.samefile(other)
    assert fitted(tmp_path).fits == []
