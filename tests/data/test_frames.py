"""Tables of pandas, Arrow, polars and strangers: in, and out as the same kind; splits joined."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import qe
from features.core.segments import Segments
from qe.data.dataset import Split, concatenate
from qe.data.frames import as_pandas, convert_like
from tests.factories import refuses

TEXTS = {
    "source": ["the red house", "a tree", "it rains"],
    "target": ["das rote Haus", "ein Baum", "es regnet"],
}


class Stranger:
    """A table of nobody's: all that it has is Arrow's stream."""

    def __init__(self, table: Any) -> None:
        self._table = pa.table(table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def polars_table(table: Any) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").DataFrame(table)


KINDS = [pd.DataFrame, pa.table, Stranger, polars_table]


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_any_table_are_those_of_pandas(kind: Any) -> None:
    extractor = qe.FeatureExtractor(["surface"], source_language="en", target_language="de")
    expected = extractor.fit_transform(pd.DataFrame(TEXTS))
    given = kind(TEXTS)
    found = extractor.fit(given).transform(given)
    assert type(found) is (pa.Table if kind is Stranger else type(given))
    assert extractor.feature_names_in_.tolist() == ["source", "target"]
    pd.testing.assert_frame_equal(as_pandas(found), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataset_of_any_table(kind: Any) -> None:
    told = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    split = qe.Dataset.from_frame(kind({**TEXTS, "score": [1.0, 2.0, 3.5]}), **told).splits["train"]
    assert split.segments.target == tuple(TEXTS["target"])
    assert split.scores is not None and split.scores.tolist() == [1.0, 2.0, 3.5]


def test_rows_of_a_table_in_memory_are_numbered_and_texts_must_be_there() -> None:
    told = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    table = pd.DataFrame({**TEXTS, "score": [1.0, np.nan, 3.5]})
    data = qe.Dataset.from_frame(table, **told)
    assert data.splits["train"].segments.id == ("1", "2") and len(data.notes) == 1
    assert "1 rows without a label are left out (lines row 2)" in data.notes[0]
    missing = table.assign(target=["a", "b", None])
    refuses("'train':row 3: the target is missing", qe.Dataset.from_frame, missing, **told)


def test_a_dataset_says_which_columns_it_does_not_read() -> None:
    told = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    table = pd.DataFrame(
        {**TEXTS, "score": [1.0, 2.0, 3.5], "id": ["a", "b", "c"], "hter": 1, "comment": "x"}
    )
    data = qe.Dataset.from_frame(table, **told)
    assert data.notes == ("the table of 'train': columns that are not read: hter, comment",)


def test_systems_of_a_table_are_evaluated() -> None:
    systems = {"a": [1.0, 2.0, 3.0, 4.0], "b": [4.0, 3.0, 2.0, 1.0]}
    gold = pa.table({"da": [1.0, 2.0, 3.0, 5.0]})["da"]
    report = qe.evaluate(gold, pa.table(systems), higher_is_better=True, samples=0)
    assert report.score("a", "spearman") == 1.0 == -report.score("b", "spearman")


@pytest.mark.parametrize("kind", [pa.table, polars_table])
def test_cells_of_lists_and_undefined_numbers(kind: Any) -> None:
    frame = pd.DataFrame(
        {
            "score": [1.5, np.nan],
            "tokens": [("a", "b"), []],
            "spans": [[{"start": 0, "severity": "major"}], None],
        }
    )
    found = pa.table(convert_like(kind(TEXTS), frame))
    assert found["score"].to_pylist() == [1.5, None]
    assert found["tokens"].to_pylist() == [["a", "b"], []]
    assert found["spans"].to_pylist() == [[{"start": 0, "severity": "major"}], None]


def test_scores_come_as_the_kind_of_table(demo_model: Any) -> None:
    model = qe.load_model(demo_model)
    frame = pd.DataFrame(TEXTS)
    expected = model.predict(frame, interval=0.9, explain=2)
    found = model.predict(pa.table(TEXTS), interval=0.9, explain=2)
    assert found.column_names == list(expected.columns)
    np.testing.assert_array_equal(found["score"].to_numpy(), expected["score"])
    assert found["because"].to_pylist() == expected["because"].tolist()
    assert isinstance(model.features(pa.table(TEXTS)), pa.Table)


def test_splits_with_different_numbers_of_judges_are_joined() -> None:
    def split(name: str, judges: list[list[float]]) -> Split:
        return Split(Segments((name,), ("x",), id=(name,)), scores=np.ones(1), judges=np.array(judges))

    joined = concatenate([split("a", [[1.0, 2.0]]), split("b", [[3.0, 4.0, 5.0]])])
    np.testing.assert_array_equal(joined.judges, [[1, 2, np.nan], [3, 4, 5]])
