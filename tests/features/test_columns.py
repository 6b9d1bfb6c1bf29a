"""Columns of the table as features: numbers, missing values, categories, columns that a table may lack."""

from pathlib import Path
from typing import Any

import numpy as np

from features.core.extractor import FittedExtractor, TableColumn
from features.core.feature_set import FeatureSet, completed, families, make_extractor, table_columns
from features.core.segments import Segments
from tests.factories import refuses, segments

ENGINES = ("a", "a", " b", "b ", "c", "")


def fitted(config: dict[str, Any], training: Segments) -> FittedExtractor:
    (config,) = completed(families([config]), training)
    made = make_extractor(config, None)
    return made.fit(training, {})


def test_numbers_are_as_they_are_and_missing_ones_have_an_indicator() -> None:
    made = make_extractor({"kind": "columns", "names": ["comet", "match_rate"]}, None)
    assert not isinstance(made, FittedExtractor)
    assert made.feature_names == (
        *("column_comet", "column_comet_missing"),
        *("column_match_rate", "column_match_rate_missing"),
    )
    values = made.extract(segments(comet=("0.5", " ", "-1e3"), match_rate=("85", "100", "")))
    np.testing.assert_array_equal(values, [[0.5, 0, 85, 0], [np.nan, 1, 100, 0], [-1000, 0, np.nan, 1]])


def test_frequent_categories_have_a_feature_and_others_one_together() -> None:
    training = segments(engine=ENGINES)
    made = fitted({"kind": "columns", "categories": ["engine"], "min_rows": 2}, training)
    names = ("column_engine=a", "column_engine=b", "column_engine=other", "column_engine_missing")
    assert made.feature_names == names
    expected = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(made.extract(training), expected)
    np.testing.assert_array_equal(made.extract(segments(engine=("new", "other", "a"))).argmax(1), [2, 2, 0])


def test_a_category_that_a_fold_has_not_seen_is_other_there() -> None:
    training = segments(engine=ENGINES)
    made = fitted({"kind": "columns", "categories": ["engine"], "min_rows": 2}, training)
    fold = made.fit(training.take([0, 1, 4]), {})
    assert fold.feature_names == made.feature_names
    np.testing.assert_array_equal(fold.extract(training).argmax(1), [0, 0, 2, 2, 2, 3])


def test_given_values_stay(tmp_path: Path) -> None:
    config = {"kind": "columns", "categories": ["engine"], "values": {"engine": ["c"]}, "min_rows": 1}
    made = fitted(config, segments(engine=ENGINES))
    assert made.feature_names[:2] == ("column_engine=c", "column_engine=other")
    made.save(tmp_path)
    restored = make_extractor(config, None)
    again = restored.restore(tmp_path).extract(segments(engine=ENGINES))
    np.testing.assert_array_equal(again, made.extract(segments(engine=ENGINES)))


def test_an_optional_column_may_be_absent_and_another_may_not() -> None:
    config = {"kind": "columns", "names": ["comet", "llm"], "categories": ["engine"], "optional": ["comet"]}
    assert table_columns(family.unmade() for family in families([config])) == {
        "comet": TableColumn("comet", optional=True),
        "llm": TableColumn("llm"),
        "engine": TableColumn("engine", number=False),
    }
    made = make_extractor({"kind": "columns", "names": ["comet"], "optional": ["comet"]}, None)
    np.testing.assert_array_equal(made.extract(segments(x=("1",))), [[np.nan, 1]])
    required = FeatureSet.make([{"kind": "columns", "names": ["comet"]}], None)
    refuses("the segments have no column 'comet'", required.extract, segments(x=("1",)))


def test_further_columns_are_taken_and_joined() -> None:
    first, second = segments(comet=("1", "2")), segments(id="q")
    assert first.take([1]).further == {"comet": ("2",)}
    assert Segments.concatenate([first, second]).further == {"comet": ("1", "2", "")}
    assert first.fingerprint != segments(comet=("1", "3")).fingerprint
