"""A family fitted on all rows: read from the cache the next time, fitted again once a file has changed."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from features import FeatureSet, Segments
from qe.data import Split
from qe.training.extraction import Extraction
from tests.training.mean import Mean


@dataclass(frozen=True)
class _Large(Mean):
    """One that saves a megabyte which does not depend on the rows, as an encoder is."""

    def save(self, path: Path) -> None:
        super().save(path)
        (path / "encoder.bin").write_bytes(bytes(1 << 20))


TEXTS = ("a", "b", "c")
SPLIT = Split(Segments(TEXTS, TEXTS, id=TEXTS), scores=np.array([1.0, 6.0, 2.0]))


def fitted(cache: Path | None, split: Split = SPLIT) -> _Large:
    """By an extraction that knows nothing of others but the cache."""
    feature_set = FeatureSet(({"kind": "mean"},), (_Large(),))
    made = Extraction(feature_set, cache).fitted_extractors(split).extractors[0]
    assert isinstance(made, _Large)
    return made


def test_the_same_rows_are_learned_from_once(tmp_path: Path) -> None:
    first, second = fitted(tmp_path), fitted(tmp_path)
    assert (first.fits, second.fits) == ([3], [])
    assert first.mean == second.mean == 3.0


def test_other_labels_are_learned_anew(tmp_path: Path) -> None:
    fitted(tmp_path)
    other = fitted(tmp_path, replace(SPLIT, scores=np.array([1.0, 0.0, 2.0])))
    assert (other.fits, other.mean) == ([3], 1.0)


def test_a_changed_file_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fitted(tmp_path)
    (file,) = tmp_path.glob("fitted/*/mean.txt")
    file.write_text("6.0")
    again = fitted(tmp_path)
    assert (again.fits, again.mean) == ([3], 3.0)
    assert "mean.txt has changed" in caplog.text
    assert (fitted(tmp_path).fits, file.read_text()) == ([], "3.0")


def test_large_files_that_are_equal_take_space_once(tmp_path: Path) -> None:
    fitted(tmp_path)
    fitted(tmp_path, replace(SPLIT, scores=np.array([1.0, 0.0, 2.0])))
    one, other = sorted(tmp_path.glob("fitted/*/encoder.bin"))
    assert one.samefile(other)
    one, other = sorted(tmp_path.glob("fitted/*/mean.txt"))
    assert not one.samefile(other)
    assert fitted(tmp_path).fits == []
