"""`import qe`: quick, lazy, and the same figures as the command line."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qe
from tests.factories import refuses, score_file

TABLE = pd.DataFrame(
    {"source": ["a red house .", "the cat"], "target": ["una casa roja .", "el gato"]}, index=[7, 3]
)


LANGUAGES: Any = {"source_language": "en", "target_language": "es"}


def test_importing_loads_nothing_heavy() -> None:
    script = (
        "import sys, time; began = time.process_time(); import qe; seconds = time.process_time() - began;"
        "heavy = {'numpy', 'pandas', 'sklearn', 'mlflow', 'optuna', 'pydantic'} & set(sys.modules);"
        "print(seconds, *heavy)"
    )
    seconds, *heavy = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout.split()
    assert float(seconds) < 0.3 and not heavy


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(getattr(qe, name) is not None for name in dir(qe))
    with pytest.raises(AttributeError, match="has no attribute 'nonesuch'"):
        _ = qe.nonesuch  # type: ignore[attr-defined]


def test_a_loaded_model_scores_as_the_command_line_does(
    demo_model: Path, demo_run: Any, tmp_path: Path
) -> None:
    new = demo_run.output / "data" / "new.tsv"
    score_file(demo_model, [new], tmp_path / "scores.tsv")
    written = pd.read_csv(tmp_path / "scores.tsv", sep="\t")
    rows = pd.read_csv(new, sep="\t", dtype=str, quoting=3)
    model = qe.load_model(demo_model)
    np.testing.assert_array_equal(model.predict(rows)["score"], written["score"])
    assert model.columns == ("source", "target") and model.about["versions"]["mtqe"] == qe.__version__
    more = model.predict(rows.head(3), interval=0.9, explain=2)
    assert list(more) == ["score", "low", "high", "because", "reason"]
    features = model.features(rows.head(3))
    assert list(features.columns) == model.model.feature_set.names and features.index.tolist() == [0, 1, 2]
    renamed = rows.head(3).rename(columns={"source": "SRC", "target": "mt"})
    pd.testing.assert_frame_equal(model.features(renamed), features)
    pd.testing.assert_frame_equal(model.predict(renamed), model.predict(rows.head(3)))


def test_a_model_is_named_by_its_run(demo_model: Path) -> None:
    assert qe.load_model(demo_model.parent).folder == qe.load_model(demo_model).folder == demo_model


def test_messages_name_parameters_that_the_function_has(demo_model: Path) -> None:
    model, rows = qe.load_model(demo_model), pd.DataFrame({"source": ["a"], "target": ["b"]})
    refuses("^interval lies between 0 and 1", model.predict, rows, error=qe.InputError, interval=2.0)
    with pytest.raises(qe.InputError) as raised:
        model.predict(rows[["source"]])
    assert "--" not in str(raised.value) and "columns NAME=HEADER" not in str(raised.value)


def test_what_is_missing_is_named(demo_model: Path, tmp_path: Path) -> None:
    with pytest.raises(qe.InputError, match="needs the column 'target'"):
        qe.load_model(demo_model).predict(pd.DataFrame({"source": ["a"]}))
    refuses(r"is not a model directory \(no model.json\); `qe demo`", qe.load_model, tmp_path)
    with pytest.raises(qe.InputError, match="names no dataset"):
        mapping = {"name": "x", "features": ["surface"], "learner": {"kind": "ridge"}}
        qe.train(qe.load_experiment(mapping), tmp_path / "out")
    refuses("learnr", qe.load_experiment, {**mapping, "learnr": {"kind": "ridge"}}, error=qe.InputError)


def test_a_dataset_of_tables() -> None:
    table = TABLE.assign(hter=[0.1, 0.2], post_edit=["a", "b"])
    data = qe.Dataset.from_frame(
        {"train": table, "blind": TABLE}, "hter", low=0, source_language="en", target_language="de"
    )
    train, blind = data.split("train"), data.split("blind")
    assert train.scores is not None and train.scores.tolist() == [0.1, 0.2] and blind.scores is None
    assert train.post_edit == ("a", "b") and train.segments.target_tokenizer.language == "de"
    assert data.scale.sign == -1
    with pytest.raises(qe.InputError, match="no column 'source'"):
        qe.Dataset.from_frame(table[["target", "hter"]], "hter", **LANGUAGES)
    with pytest.raises(qe.InputError, match="is not a number"):
        qe.Dataset.from_frame(table.assign(hter="bad"), "hter", **LANGUAGES)


@pytest.mark.parametrize(
    ("label", "given", "sign"), [("HTER", None, -1), ("z-mean", None, 1), ("score", False, -1)]
)
def test_a_direction_is_given_or_in_the_name(label: str, given: bool | None, sign: int) -> None:
    table = TABLE.assign(**{label: [0.1, 0.2]})
    data = qe.Dataset.from_frame(table, label, higher_is_better=given, **LANGUAGES)
    report = qe.evaluate(table[label], {"same": table[label]}, higher_is_better=given, samples=0)
    assert data.scale.sign == sign and report.recipe["label"]["higher_is_better"] is (sign > 0)


def test_directions_and_languages_are_not_guessed() -> None:
    table = TABLE.assign(score=[0.1, 0.2])
    with pytest.raises(qe.InputError, match="direction of the label 'score' is not known; say higher_is_"):
        qe.Dataset.from_frame(table, "score", **LANGUAGES)
    with pytest.raises(qe.InputError, match="direction of the label 'score' is not known"):
        qe.evaluate(table["score"], {"same": table["score"]})
    refuses("direction of the label 'label' is not known", qe.evaluate, [1, 2], {"same": [1, 2]})
    with pytest.raises(TypeError, match="source_language"):
        qe.Dataset.from_frame(table.assign(hter=0.1), "hter", target_language="de")  # type: ignore[call-arg]
    with pytest.raises(qe.InputError, match="languages of the texts are not known"):
        qe.FeatureExtractor(["surface"], source_language="en").fit(TABLE)


def test_evaluation_takes_lists() -> None:
    sides = {"a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}
    report = qe.evaluate([1, 2, 3, 4], sides, higher_is_better=True, samples=200, seed=1)
    assert report.score("a", "mae") == 0 and report.score("b", "spearman") == -1
    refuses("row 1 is nan", qe.evaluate, [1, float("nan")], {"a": [1, 2]}, error=qe.InputError)


def test_comparison_takes_runs_and_columns_of_references() -> None:
    references = ["the house", "a cat sleeps", "he reads"]
    worse = ["house", "cats sleep", "read"]
    systems = {"one": [worse, worse], "two": [references, references]}
    comparison = qe.compare(systems, [references, references], metrics=["ter"], samples=50)
    assert comparison.scores["two"]["ter"].instability.mean == 0
    assert comparison.scores["one"]["ter"].instability.mean > 0
    assert comparison.buckets is None


def test_both_compare_in_buckets() -> None:
    from qe.data.buckets import by_length

    references = [f"word{i} is{' long' * (6 * (i % 2))} here" for i in range(24)]
    worse = [line.replace("here", "x") for line in references]
    kinds = [by_length(references, "reference", 2)]
    outcome = qe.compare(
        {"a": worse, "b": references}, references, metrics=["ter"], samples=999, buckets=kinds
    ).buckets
    assert outcome is not None
    tested = [(one.bucket.label, one.result.samples) for one in outcome.differences]
    assert tested == [("3", 4096), ("9", 4096)]
    labels = [float(i % 5) for i in range(24)]
    sides = {"a": [4 - label for label in labels], "b": labels}
    report = qe.evaluate(labels, sides, higher_is_better=True, samples=999, buckets=kinds).buckets
    assert report is not None and {one.bucket.kind for one in report.differences} == {"length"}


def test_progress_bars_are_drawn_by_stage(capsys: pytest.CaptureFixture[str]) -> None:
    progress = qe.progress_bars()
    for done in (1, 2, 2):
        progress("reading", done, 2)
    progress("building · best 1", 5, None)
    progress("building · best 2", 6, None)
    told = capsys.readouterr().err
    assert "reading: 100%" in told and "building" in told


@pytest.mark.slow
def test_outside_a_notebook_no_bar_of_what_is_not_done_stays() -> None:
    script = (
        "import qe; progress = qe.progress_bars(); progress('reading', 2, 2);"
        "progress('search · best 1', 1, 9); progress('search · best 2', 2, 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    *lines, last = done.stderr.decode().split("\n")
    assert [line.split("\r")[-1].split(":")[0] for line in lines] == ["reading"]
    assert not last.split("\r")[-1].strip() and not last.split("\r")[-2].strip()


class TestFeatureExtractor:
    def test_what_families_need_is_a_table(self) -> None:
        needs = qe.FeatureExtractor.needs()
        assert needs.loc["surface"].tolist() == ["", "", "", False]
        assert "target_lm" in needs.loc["baseline17", "resources"]
        assert needs.loc["pseudo_reference", "columns"] == "pseudo_reference"
        assert needs.loc["bag_of_words", "learns"] and "model" in needs.loc["encoder", "parameters"]

    def test_names_index_and_values(self) -> None:
        extractor = qe.FeatureExtractor(["surface"], **LANGUAGES)
        made = extractor.fit_transform(TABLE)
        assert made.index.tolist() == [7, 3]
        assert made.columns.tolist() == extractor.get_feature_names_out().tolist()
        assert made["tokens_source"].tolist() == [4, 2]

    def test_it_can_be_cloned_and_stand_in_a_pipeline(self) -> None:
        extractor = clone(qe.FeatureExtractor([{"kind": "surface", "only": ["tokens_*"]}], **LANGUAGES))
        scaled = make_pipeline(extractor, StandardScaler()).fit_transform(TABLE)
        assert scaled.shape[0] == 2 and scaled[0, 0] == pytest.approx(1)

    def test_families_that_learn_are_cross_fitted_in_a_pipeline(self) -> None:
        rng = np.random.default_rng(0)
        words = rng.choice(["gut", "schlecht", "haus"], (60, 4))
        table = pd.DataFrame({"source": "a house", "target": [" ".join(row) for row in words]})
        labels = (words == "gut").sum(1) + rng.normal(0, 0.1, 60)
        extractor = qe.FeatureExtractor(["surface", "bag_of_words"], **LANGUAGES)
        trained = extractor.fit_transform(table, labels)
        assert trained.columns.tolist() == extractor.get_feature_names_out().tolist()
        applied = extractor.fit(table, labels).transform(table)
        learned = [name for name in trained if not np.allclose(trained[name], applied[name], equal_nan=True)]
        assert max(abs(np.corrcoef(trained[name], labels)[0, 1]) for name in learned) > 0.8
        changed = labels.copy()
        changed[0] += 100
        again = extractor.fit_transform(table, changed)[learned]
        assert np.allclose(again.iloc[0], trained[learned].iloc[0])  # not from the row's own label
        assert not np.allclose(again, trained[learned])
        pipeline = make_pipeline(extractor, SimpleImputer(), Ridge()).fit(table, labels)
        assert np.corrcoef(pipeline.predict(table), labels)[0, 1] > 0.8

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(qe.InputError, match="unknown extractor 'surfaec'"):
            qe.FeatureExtractor(["surfaec"]).fit(TABLE)
        with pytest.raises(qe.InputError, match="learn from labels; give them as `y`"):
            qe.FeatureExtractor(["bag_of_words"], **LANGUAGES).fit(TABLE)
        with pytest.raises(qe.InputError, match="learn from 'reference'; the table has"):
            qe.FeatureExtractor(["example_precision"], **LANGUAGES).fit(TABLE, [0, 1])
        with pytest.raises(
            qe.InputError, match="needs the resource 'source_lm5'; name a bundle by resources;"
        ):
            qe.FeatureExtractor(["lm"], **LANGUAGES).fit(TABLE)
        with pytest.raises(qe.InputError, match="need the column 'target'"):
            qe.FeatureExtractor(**LANGUAGES).fit(TABLE).transform(TABLE[["source"]])
