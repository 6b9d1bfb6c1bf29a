"""Columns of every kind: training and scoring, from frames, files and requests, read the same texts."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qe
from qe.data.dataset import Dataset
from qe.data.frames import cells_of
from qe.data.reading import Reading, read_table
from qe.data.table_rows import needed_texts, read_rows
from qe.production.server.protocol import Limits, parse
from tests.factories import refuses

LANGUAGES: dict[str, Any] = {"source_language": "en", "target_language": "de", "higher_is_better": True}
# Kind of column -> (its cells, their texts; None: the cell has none).
KINDS: dict[str, tuple[Any, list[str | None]]] = {
    "text": (["1", "-2.5", "3e2"], ["1", "-2.5", "3e2"]),
    "int": ([1, -2, 3], ["1", "-2", "3"]),
    "float": ([1.0, -2.5, 0.1], ["1.0", "-2.5", "0.1"]),
    "float32": (pd.Series([1.0, -2.5, 0.5], dtype="float32"), ["1.0", "-2.5", "0.5"]),
    "Decimal": ([Decimal("1.10"), Decimal("-2.5"), Decimal(3)], ["1.10", "-2.5", "3"]),
    "None": (["1", None, "3"], ["1", None, "3"]),
    "NaN": ([1.0, float("nan"), 3.0], ["1.0", None, "3.0"]),
    "NaN among texts": (["1", float("nan"), "3"], ["1", None, "3"]),
    "pd.NA": (pd.Series([1, pd.NA, 3], dtype="Int64"), ["1", None, "3"]),
    "text with pd.NA": (pd.Series(["1", pd.NA, "3"], dtype="string"), ["1", None, "3"]),
    "categorical": (pd.Series(["1", "2", "1"], dtype="category"), ["1", "2", "1"]),
    "Arrow": (pd.Series([1, None, 3], dtype=pd.ArrowDtype(pa.int64())), ["1", None, "3"]),
    "Arrow text": (pd.Series(["1", None, "3"], dtype=pd.ArrowDtype(pa.large_string())), ["1", None, "3"]),
    "Arrow dictionary": (pa.array(["1", None, "3"]).dictionary_encode(), ["1", None, "3"]),
    "Arrow decimal": (pa.array([Decimal("1.10"), None], pa.decimal128(6, 2)), ["1.10", None]),
    "empty": (["", "", "1"], ["", "", "1"]),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def frame(kind: str, name: str = "model_score") -> pd.DataFrame:
    cells, texts = KINDS[kind]
    column = (
        cells
        if isinstance(cells, pd.Series)
        else pa.table({name: cells})[name].to_pandas()
        if (isinstance(cells, pa.Array))
        else pd.Series(cells, dtype=None if kind in ("int", "float", "NaN") else object)
    )
    table = {"source": ["a"] * len(texts), "target": ["b"] * len(texts), "score": np.arange(len(texts))}
    return pd.DataFrame({**table, name: column})


def rows_of(table: pd.DataFrame) -> list[tuple[dict[str, str], str]]:
    cells = cells_of(table, "the table")
    return [
        needed_texts(dict(zip(cells, row, strict=True)), ("source", "target", "model_score"))
        for row in zip(*cells.values(), strict=True)
    ]


@EVERY_KIND
def test_training_and_scoring_read_the_same_texts(kind: str, tmp_path: Path) -> None:
    table, (_, texts) = frame(kind), KINDS[kind]
    scored = rows_of(table)
    assert [row.get("model_score") for row, _ in scored] == texts
    assert [reason for _, reason in scored] == ["no model_score" if text is None else "" for text in texts]
    there = [row for row, text in enumerate(texts) if text is not None]
    split = Dataset.from_frame(table.iloc[there], **LANGUAGES).splits["train"]
    assert split.segments.model_score == tuple(texts[row] for row in there)
    if None in texts:
        refuses("row 2: the model_score is missing", Dataset.from_frame, table, **LANGUAGES)


@EVERY_KIND
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_files_are_read_as_frames(kind: str, ending: str, tmp_path: Path) -> None:
    table, (_, texts) = frame(kind), KINDS[kind]
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    else:
        cells = cells_of(table, path)
        records = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        path.write_text("".join(json.dumps(row, default=float) + "\n" for row in records), "utf-8")
    column = read_table(Reading(tmp_path), path)["model_score"]
    trained = [None if row in column.absent else text for row, text in enumerate(column.texts)]
    scored = [needed_texts(row, ["model_score"])[0].get("model_score") for row, _ in read_rows(path)]
    assert trained == scored
    assert [value if value is None or not value else float(value) for value in trained] == [
        text if text is None or not text else float(text) for text in texts
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (5, "5"), (0.5, "0.5"), (True, "True"), (None, None), ([1, "a"], '[1, "a"]')],
)
def test_requests_are_read_as_frames(value: Any, text: str | None) -> None:
    body = json.dumps({"dataframe_records": [{"source": "a", "nbest": value}]}).encode()
    (row, _), *_ = parse(body, "json", Limits()).rows
    assert needed_texts(row, ["source", "nbest"])[0].get("nbest") == text


UNREADABLE = {
    "None": (None, r"the {} is missing \(null\)", "no {}"),
    "NaN": (float("nan"), r"the {} is missing \(null\)", "no {}"),
    "pd.NA": (pd.NA, r"the {} is missing \(null\)", "no {}"),
    "NaT": (pd.NaT, r"the {} is missing \(null\)", "no {}"),
    "list": (["b"], "the {} is not text", "{} is not text"),
    "object": ({"b": 1}, "the {} is not text", "{} is not text"),
    "bytes": (b"b", "the {} is not text", "{} is not text"),
    "array": (np.array(["b", "c"]), "the {} is not text", "{} is not text"),
    "half a surrogate": ("\ud800", "half a surrogate pair", "{} holds half a surrogate pair"),
}


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_cells_without_text_are_named_or_get_a_reason(kind: str, side: str) -> None:
    cell, problem, reason = UNREADABLE[kind]
    table = frame("text")
    texts = table[side].astype(object).tolist()
    table[side] = pd.Series([*texts[:2], cell], dtype=object)
    extractor = qe.FeatureExtractor(["surface"], source_language="en", target_language="de").fit(table)
    for read in (lambda: extractor.transform(table), lambda: Dataset.from_frame(table, **LANGUAGES)):
        refuses(f"row 3: {problem.format(side)}", read)
    assert [reason for _, reason in rows_of(table)] == ["", "", reason.format(side)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("0,5", "no"), ("nan", "no"), ("inf", "no"), ("1_0", "no"), ("x", "no"), (" ", ""), ("-1e3", "")],
)
def test_a_model_score_is_a_number_or_empty(text: str, reason: str) -> None:
    expected = "model_score is not a finite number" if reason else ""
    assert needed_texts({"model_score": text}, ["model_score"])[1] == expected


def test_a_model_scores_the_frame_that_it_was_trained_on(demo_model: Path) -> None:
    model = qe.load_model(demo_model)
    table = frame("text")
    for bad in (None, float("nan"), pd.NA, ["b"]):
        table["target"] = pd.Series(["das Haus", 5, bad], dtype=object)
        scored = model.predict(table)
        assert scored["score"].notna().tolist() == [True, True, False]
        assert scored["reason"].tolist()[:2] == ["", ""] and scored["reason"][2] in (
            "no target",
            "target is not text",
        )
        refuses("row 3: the target is", model.features, table)


@pytest.mark.slow
def test_a_model_needs_the_optional_columns_of_its_training_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The label is the system's score, so that a model which reads it when scoring ranks as it does."""
    monkeypatch.chdir(tmp_path)
    scores = np.random.default_rng(1).normal(size=60).round(3)
    table = pd.DataFrame(
        {"source": "a b", "target": "c d", "subwords": "c d", "token_log_probabilities": "-1 -2 -0.5"},
        index=range(60),
    ).assign(model_score=scores, score=scores)
    experiment = {
        "name": "decoder", "features": ["decoder"], "learner": {"kind": "ridge"}, "guard": False,
        "tracking": {"enabled": False},
    }  # fmt: skip
    dataset = Dataset.from_frame(table, **LANGUAGES)
    outcome = qe.train(experiment, tmp_path / "out", dataset=dataset, cache=tmp_path / "cache")
    model = qe.load_model(outcome.output)
    assert model.columns == outcome.model.columns() and "model_score" in model.columns
    predicted = model.predict(table.drop(columns="score"))["score"]
    assert np.corrcoef(predicted, scores)[0, 1] > 0.99
    refuses("'model_score'", model.predict, table.drop(columns=["score", "model_score"]))
