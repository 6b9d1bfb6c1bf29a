"""Arguments of Python functions that are refused by name, not by a library inside."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import qe
from tests.factories import refuses

LANGUAGES: Any = {"source_language": "en", "target_language": "de"}
TABLE = pd.DataFrame({"source": ["a", "b"], "target": ["c", "d"], "da": [1.0, 2.0]})
RIDGE = {"name": "x", "features": ["surface"], "learner": {"kind": "ridge"}}
FRAME = partial(qe.Dataset.from_frame, TABLE, "da", **LANGUAGES)
CURVE, TRAIN = partial(qe.learning_curve, RIDGE), partial(qe.train, RIDGE)
EVALUATE = partial(qe.evaluate, [1, 2, 3], {"a": [1, 2, 3]}, higher_is_better=True)
COMPARE = partial(qe.compare, {"a": ["x", "y"]}, ["x", "y"])
COLUMN: Any = pd.Series([1])
DATES: Any = pd.Series(pd.to_datetime(["2026-11-29", "2026-11-30"]))
TWICE = pd.DataFrame([[1, 2], [2, 2], [3, 2]], columns=["a", "a"])


@pytest.mark.parametrize(
    ("location", "call"),
    [
        ("expected a table of pandas", partial(qe.Dataset.from_frame, TABLE["da"], "da", **LANGUAGES)),
        ("expected a table of pandas", partial(qe.evaluate, [1], COLUMN)),
        ("expected a table of pandas", partial(qe.FeatureExtractor(**LANGUAGES).fit, TABLE["source"])),
        ("expected a table of pandas", partial(qe.FeatureExtractor(**LANGUAGES).fit, pa.array(["a"]))),
        ("`features` must be a list", partial(qe.FeatureExtractor("surface", **LANGUAGES).fit, TABLE)),
        ("`features.0` must be text", partial(qe.FeatureExtractor([5], **LANGUAGES).fit, TABLE)),  # type: ignore[list-item]
        ("`low` must be a number or None, but got '1'", partial(FRAME, low="1")),
        ("`columns` must be a list", partial(FRAME, columns="domain")),
        ("unknown argument 'hihg'; .* did you mean 'high'", partial(FRAME, hihg=5)),
        ("`sizes.0` must be greater than or equal to 1", partial(CURVE, [-5])),
        ("`sizes` must be a list .*, not empty", partial(CURVE, [])),
        ("`draws` must be a whole number from 1, but got 0", partial(CURVE, range(5, 7), draws=0)),
        ("`workers` must be a whole number from 1, but got 0", partial(TRAIN, "out", workers=0)),
        ("unknown argument 'sampels'; .* did you mean 'samples'", partial(EVALUATE, sampels=99)),
        ("the gold labels must be numbers", partial(qe.evaluate, DATES, {"a": [1, 2]})),
        ("'a' must be numbers", partial(qe.evaluate, [1, 2], {"a": DATES})),
        *(
            (
                f"the group of row 1 is {missing}",
                partial(EVALUATE, groups=pd.Series(["a", missing, "b"], dtype=object)),
            )
            for missing in (None, np.nan, pd.NA, pd.NaT)
        ),
        (
            "`samples` must be a whole number or None from 0 to 1000000, but got '99'",
            partial(EVALUATE, samples="99"),
        ),
        ("the column 'a' occurs twice", partial(qe.evaluate, [1, 2, 3], TWICE, higher_is_better=True)),
        ("unknown argument 'seeds'; .* did you mean 'seed'", partial(COMPARE, seeds=1)),
        ("`seed` must be a whole number from 0 to 4294967295, but got 'x'", partial(COMPARE, seed="x")),
    ],
)
def test_arguments_are_refused_by_name(location: str, call: Any) -> None:
    refuses(location, call)


def test_a_model_explains_by_no_negative_number_of_features(demo_model: Path) -> None:
    refuses("`explain` must be a whole number from 0", qe.load_model(demo_model).predict, TABLE, explain=-1)


def test_any_sequence_is_taken() -> None:
    texts = ["the house", "a cat sleeps", "he reads"]
    for references in (np.array(texts), pd.Series(texts, index=[7, 7, 3])):
        comparison = qe.compare({"a": texts}, references, metrics=["ter"], samples=50)  # type: ignore[arg-type]
        assert comparison.scores["a"]["ter"].instability.mean == 0
    assert list(qe.Dataset.from_frame({1: TABLE}, "da", **LANGUAGES).splits) == ["1"]  # type: ignore[dict-item]


def test_columns_of_no_rows_have_their_types(demo_model: Path) -> None:
    model = qe.load_model(demo_model)
    some, none = (model.predict(pa.Table.from_pandas(t), explain=1) for t in (TABLE, TABLE.head(0)))
    assert some.schema == none.schema and none.schema.field("reason").type == pa.string()
    assert model.predict(TABLE.head(0))["reason"].str.len().tolist() == []
