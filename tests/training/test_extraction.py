"""Extraction: no label reaches its own row; what is fitted on the same rows is fitted once."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from features import FeatureSet, Segments
from qe.data import Split, make_folds
from qe.training.extraction import Extraction
from tests.training.mean import Mean


def split(name: str, size: int) -> Split:
    texts = tuple(f"{name} {i}" for i in range(size))
    return Split(Segments(texts, texts, id=texts), scores=np.arange(size, dtype=np.float64))


def test_one_fit_serves_every_other_split_and_the_model(tmp_path: Path) -> None:
    extractor = Mean()
    extraction = Extraction(FeatureSet(({"kind": "mean"},), (extractor,)), tmp_path, cross_fit=3)
    training = split("train", 9)
    model = extraction.fitted_extractors(training)
    tables = [extraction.scored(training, split(name, 2).segments) for name in ("dev", "test")]
    extraction.training_table(training)
    assert sorted(extractor.fits) == [6, 6, 6, 9]  # three for the training rows themselves, one for all else
    assert [table["mean"].tolist() for table in tables] == [[4.0, 4.0]] * 2
    assert checked_mean(model) == 4.0


@pytest.mark.parametrize("by", ["block", "document"])
def test_training_rows_have_values_of_fits_without_their_fold(by: Literal["block", "document"]) -> None:
    """Labels 0 .. 8 in folds 012, 345 and 678: the mean of the other six is 33/6, 24/6, 15/6."""
    extraction = Extraction(
        FeatureSet(({"kind": "mean"},), (Mean(),)), None, fold_by=by, block=3, cross_fit=3
    )
    training = split("train", 9)
    documents = replace(training.segments, doc_id=tuple("aaabbbccc"))
    training = replace(training, segments=documents)
    assert extraction.training_table(training)["mean"].tolist() == [5.5] * 3 + [4.0] * 3 + [2.5] * 3
    scores = np.array([0, 1, 2, 3, 100.0, 5, 6, 7, 8])  # 96 more in the fold 345: 16 more for the others
    other = extraction.training_table(replace(training, scores=scores))
    assert other["mean"].tolist() == [21.5] * 3 + [4.0] * 3 + [18.5] * 3


@pytest.mark.parametrize("by", ["block", "document"])
@pytest.mark.parametrize(("documents", "values"), [("aaabbb", [4.0] * 3 + [1.0] * 3), ("aaaaaa", None)])
def test_a_fold_with_fewer_groups_than_parts_is_cross_fitted(
    by: Literal["block", "document"], documents: str, values: list[float] | None
) -> None:
    """Two groups make two parts instead of five; one group makes parts of random rows: none has its label."""
    block = 3 if values else 6
    extraction = Extraction(FeatureSet(({"kind": "mean"},), (Mean(),)), None, fold_by=by, block=block)
    training = split("train", 6)
    training = replace(training, segments=replace(training.segments, doc_id=tuple(documents)))
    found = extraction.training_table(training)["mean"].tolist()
    assert found == values if values else len({*found}) == 5


def test_held_out_rows_have_values_of_the_training_rows_alone() -> None:
    """Labels 0 .. 5 and 100, 200, 300: the latter are held out, and reach nothing."""
    extraction = Extraction(
        FeatureSet(({"kind": "mean"},), (Mean(),)), None, fold_by="block", block=3, cross_fit=2
    )
    scores = np.array([0, 1, 2, 3, 4, 5, 100.0, 200, 300])
    trained, applied = extraction.fold(replace(split("all", 9), scores=scores), np.arange(6), np.arange(6, 9))
    assert trained["mean"].tolist() == [4.0] * 3 + [1.0] * 3
    assert applied["mean"].tolist() == [2.5] * 3


def test_other_rows_are_fitted_anew() -> None:
    extractor = Mean()
    extraction = Extraction(FeatureSet(({"kind": "mean"},), (extractor,)), None)
    assert [checked_mean(extraction.fitted_extractors(split("a", n))) for n in (3, 5, 3)] == [1.0, 2.0, 1.0]


_PLUGIN = """
from dataclasses import dataclass
import numpy as np
from features.core.extractor import Extractor, Feature
from grading.scale import scaled

@dataclass(frozen=True)
class Lengths(Extractor):
    @property
    def features(self):
        return [Feature("length", "length", "characters", "test")]

    def extract(self, segments):
        return scaled(np.array([[float(len(text))] for text in segments.source]))
"""


def test_a_changed_module_of_a_plugin_makes_its_columns_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The column is 4 (the length) by the factor of the other module of the package: 1, then 25."""
    package = tmp_path / "grading"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "lengths.py").write_text(_PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    segments = Segments(("four",), ("quatre",), id=("1",))
    values = []
    for factor in (1, 25):
        (package / "scale.py").write_text(f"def scaled(values):\n    return values * {factor}\n")
        for name in [name for name in sys.modules if name.partition(".")[0] == "grading"]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        extractor = importlib.import_module("grading.lengths").Lengths()
        feature_set = FeatureSet(({"kind": "grading:lengths"},), (extractor,))
        values += (
            Extraction(feature_set, tmp_path / "cache").static(segments)["grading.lengths.length"].tolist()
        )
    assert values == [4.0, 100.0]


def checked_mean(fitted: FeatureSet) -> float:
    (extractor,) = fitted.extractors
    return float(extractor.extract(split("any", 1).segments)[0, 0])


@pytest.mark.slow
def test_folds_share_fits_and_see_no_label_that_is_held_out() -> None:
    """Ten folds of two rows: 28 fits, and one for each of the six folds that share a group with another."""
    extractor = Mean()
    extraction = Extraction(FeatureSet(({"kind": "mean"},), (extractor,)), None)
    rows = split("all", 20)
    folds = make_folds(20, 10, seed=0, scheme="block", block=2)
    tables = extraction.folds(rows, folds)
    assert len(extractor.fits) == 28 + 6 + 4  # without a cache on disk, the four are fitted twice
    for (train, held_out), (trained, applied) in zip(folds, tables, strict=True):
        assert applied["mean"].tolist() == [np.mean(train)] * 2
        assert list(trained.index) == [rows.segments.id[i] for i in train]
        scores = np.arange(20.0)
        scores[held_out] = 1e6
        changed = extraction.folds(replace(rows, scores=scores), folds)
        number = [tuple(out) for _, out in folds].index(tuple(held_out))
        assert changed[number][0].equals(trained) and changed[number][1].equals(applied)


@pytest.mark.slow
def test_training_rows_have_values_of_the_fits_that_folds_share(tmp_path: Path) -> None:
    extractor = Mean()
    extraction = Extraction(FeatureSet(({"kind": "mean"},), (extractor,)), tmp_path)
    rows, folds = split("all", 15), make_folds(15, 5, seed=0, scheme="block", block=3)
    extraction.folds(rows, folds)
    assert len(extractor.fits) == 10 + 5  # of the pairs; outside one group, which is a fold
    table = extraction.training_table(rows, folds)
    assert len(extractor.fits) == 10 + 5
    expected = np.empty(15)
    for train, held_out in folds:
        expected[held_out] = np.mean(train)
    assert table["mean"].tolist() == expected.tolist()
