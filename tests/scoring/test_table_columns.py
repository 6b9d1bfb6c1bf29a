"""Columns of the table that features read by name: in every format, missing, absent, not numbers."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features import Segments, Tokenizer
from features.core.feature_set import FeatureSet, completed, families
from qe.data import LabelScale
from qe.data.table_rows import needed_texts
from qe.models import Model
from qe.models.explanation import Background, Explainer
from qe.models.pipeline import Candidate, fit
from qe.production.server.protocol import Parsed, Refused
from qe.scoring import Options, Scorer
from qe.scoring.jobs import frame_of
from qe.tracking.logged_models import example
from tests.factories import refuses, score_file

CONFIG = {
    "kind": "columns",
    "names": ["comet", "match_rate"],
    "categories": ["engine"],
    "optional": ["match_rate"],
}
TOKENIZERS = Tokenizer("en"), Tokenizer("de")
ROWS = 40


def table() -> pd.DataFrame:
    random = np.random.default_rng(3)
    comet = random.random(ROWS).round(3)
    comet[[4, 7]] = np.nan
    return pd.DataFrame(
        {
            "id": [f"row-{i}" for i in range(ROWS)],
            "source": [f"a {i}" for i in range(ROWS)],
            "target": [f"b {i}" for i in range(ROWS)],
            "comet": comet,
            "match_rate": random.integers(0, 100, ROWS),
            "engine": [None if i == 9 else ("systran", "deepl")[i % 2] for i in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that learned the score comet + 1 for systran."""
    frame = table()
    texts = {name: frame[name].astype(object).where(frame[name].notna(), "").map(str) for name in frame}
    segments = Segments.from_columns({name: tuple(column) for name, column in texts.items()}, *TOKENIZERS)
    configs = completed(families([CONFIG]), segments)
    made = FeatureSet.make(configs, None)
    (extractor,) = made.fitted
    made = replace(made, extractors=(extractor.fit(segments, {}),))
    candidate, labels = Candidate("ridge", {"alpha": 1e-6}), frame["comet"].fillna(0.5).to_numpy()
    labels = labels + (frame["engine"] == "systran").to_numpy()
    pipeline = fit(candidate.pipeline(0), made.extract(segments), labels)
    there = tuple(name for name, _ in segments.columns())
    scale = LabelScale("score", None, None, True)
    folder = tmp_path_factory.mktemp("columns") / "model"
    Model("cols", candidate, pipeline, made, scale, TOKENIZERS, training_columns=there).save(folder)
    return folder


def written(frame: pd.DataFrame, path: Path) -> Path:
    kind = path.suffix
    if kind == ".parquet":
        frame.to_parquet(path, index=False)
    elif kind == ".jsonl":
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", "utf-8")
    elif kind == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="," if kind == ".csv" else "\t")
    return path


def tmx(frame: pd.DataFrame) -> str:
    units = []
    for row in frame.astype(object).where(frame.notna(), "").to_dict("records"):
        props = "".join(f'<prop type="{n}">{row[n]}</prop>' for n in ("comet", "match_rate", "engine"))
        texts = (("en", row["source"]), ("de", row["target"]))
        sides = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in texts)
        units.append(f'<tu tuid="{row["id"]}">{props}{sides}</tu>')
    header = '<header creationtool="t" creationtoolversion="1" segtype="sentence" o-tmf="t" adminlang="en"'
    head = f'{header} srclang="en" datatype="plaintext"/>'
    return f'<?xml version="1.0"?>\n<tmx version="1.4">{head}<body>{"".join(units)}</body></tmx>\n'


def scores(model: Path, source: Path, output: Path, **options: Any) -> list[float | None]:
    score_file(model, [source], output, options=Options(drift=False, **options), workers=1)
    return [json.loads(line)["score"] for line in output.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet", "xlsx", "tmx"])
def test_every_format_gives_the_scores_of_the_frame(model: Path, tmp_path: Path, kind: str) -> None:
    expected = frame_of(Scorer.load(model, Options(drift=False)), table())["score"].to_numpy()
    source = tmp_path / f"in.{kind}"
    if kind == "tmx":
        source.write_text(tmx(table()), "utf-8")
    else:
        written(table(), source)
    np.testing.assert_array_equal(scores(model, source, tmp_path / "out.jsonl"), expected)
    known = table()["comet"].notna() & table()["engine"].notna()
    true = table()["comet"] + (table()["engine"] == "systran")
    np.testing.assert_allclose(expected[known], true[known], atol=0.05)


def test_a_file_without_a_column_is_one_message_or_imputed(model: Path, tmp_path: Path) -> None:
    source = written(table().drop(columns="comet"), tmp_path / "in.tsv")
    problem = "the model 'cols' needs the column 'comet'"
    refuses(f"{problem}.*--missing-columns impute", scores, model, source, tmp_path / "out.jsonl")
    bare = written(table().drop(columns=["comet", "engine"]), tmp_path / "bare.tsv")
    refuses("'comet', and 'engine'; the input has id, source", scores, model, bare, tmp_path / "out.jsonl")
    scorer = Scorer.load(model, Options(drift=False))
    refuses(problem, frame_of, scorer, table().drop(columns="comet"))
    options = Options(drift=False, missing_columns="impute")
    done = score_file(model, [source], tmp_path / "out.jsonl", options=options, workers=1)
    assert done.notes[-1] == "no column comet: its values are imputed"
    missing = frame_of(scorer, table().assign(comet=None))["score"]
    np.testing.assert_array_equal(
        scores(model, source, tmp_path / "b.jsonl", missing_columns="impute"), missing
    )


def test_an_optional_column_may_be_absent(model: Path, tmp_path: Path) -> None:
    source = written(table().drop(columns="match_rate"), tmp_path / "in.csv")
    missing = frame_of(Scorer.load(model, Options(drift=False)), table().assign(match_rate=None))["score"]
    np.testing.assert_array_equal(scores(model, source, tmp_path / "out.jsonl"), missing)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"comet": "high"}, "comet is not a finite number"),
        ({"comet": float("inf")}, "comet is not a finite number"),
        ({"comet": [0.5]}, "comet is not a finite number"),
        ({"comet": None, "engine": None, "match_rate": None}, ""),
        ({"engine": "never seen"}, ""),
    ],
)
def test_a_row_that_cannot_be_read_has_a_reason(model: Path, changes: Mapping[str, Any], reason: str) -> None:
    row = {"source": "a", "target": "b", "comet": 0.5, "match_rate": 3, "engine": "deepl", **changes}
    (output,) = Scorer.load(model, Options(drift=False)).score([(row, "")]).rows
    assert (output["reason"], output["score"] is None) == (reason, bool(reason))


def test_a_row_of_json_lines_may_hold_null_but_not_lack_a_needed_key(model: Path) -> None:
    scorer = Scorer.load(model, Options(drift=False))
    rows: list[dict[str, Any]] = [{"source": "a", "target": "b", "comet": 1, "engine": "x"}]
    rows += [{**rows[0], "comet": None}, {name: rows[0][name] for name in ("source", "target", "engine")}]
    assert [each["reason"] for each in scorer.score([(row, "") for row in rows]).rows] == ["", "", "no comet"]
    named = scorer.table_columns
    assert needed_texts(rows[1], ("comet", "match_rate"), named) == ({"comet": "", "match_rate": ""}, "")


def test_columns_have_other_headers_and_decimal_commas(model: Path, tmp_path: Path) -> None:
    frame = table().rename(columns={"comet": "COMET-22"})
    frame["COMET-22"] = [str(value).replace(".", ",").replace("nan", "") for value in frame["COMET-22"]]
    source, expected = written(frame, tmp_path / "in.tsv"), written(table(), tmp_path / "plain.tsv")
    output = tmp_path / "out.jsonl"
    score_file(
        model, [source], output, options=Options(drift=False), workers=1, columns={"comet": "COMET-22"}
    )
    found = [json.loads(line)["score"] for line in output.read_text("utf-8").splitlines()]
    assert found == scores(model, expected, tmp_path / "plain.jsonl")


def test_a_request_may_leave_out_optional_columns_alone(model: Path) -> None:
    scorer = Scorer.load(model, Options(drift=False))
    row = {"source": "a", "target": "b", "comet": 0.5, "engine": "x", "other": 1}
    (kept,) = Parsed({*row}, [(row, "")]).needed(scorer.columns(), scorer.table_columns)
    assert kept == ({"source": "a", "target": "b", "comet": 0.5, "engine": "x"}, "")
    bare = Parsed({"source", "target"}, [({"source": "a", "target": "b"}, "")])
    refuses("column 'comet'", bare.needed, scorer.columns(), error=Refused)


def test_explanations_name_the_columns(model: Path) -> None:
    loaded = Model.load(model)
    frame = table()
    texts = {name: frame[name].astype(object).where(frame[name].notna(), "").map(str) for name in frame}
    features = loaded.features(loaded.segments({name: list(column) for name, column in texts.items()}))
    explainer = Explainer(loaded, Background.make(features.to_numpy()))
    because = explainer.because(features, 2)[1]
    assert "engine: -0.5" in because and "comet 0." in because


def test_the_example_of_a_logged_model_has_numbers() -> None:
    named = FeatureSet.make([{"kind": "columns", "names": ["comet"]}], None).table_columns
    assert example(["source"], named).to_dict("records") == [{"source": "one two three .", "comet": 1.0}]
