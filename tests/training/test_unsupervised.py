"""A model of translations that nobody has judged: from a table to scores."""

import json
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest

import qe
from features import Segments, Tokenizer
from qe.getting_started.demo.generation import generate
from qe.models import Model
from tests.factories import exit_code, refuses

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of the demo."""
    folder = tmp_path_factory.mktemp("unsupervised")
    generate(folder / "data", pairs=1000, train=300, test=20, new=200)
    return folder


@pytest.fixture(autouse=True)
def store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")


@pytest.fixture(scope="module")
def made(folder: Path) -> None:
    """`un` is the model of `new.tsv` and the parallel text; its recipe is in MLflow, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        assert run(folder, folder / "data" / "new.tsv", folder / "un") == 0
        ids = [each.experiment_id for each in mlflow.search_experiments()]
        (logged,) = mlflow.search_logged_models(output_format="list", experiment_ids=ids)
        recipe = mlflow.artifacts.load_dict(f"runs:/{logged.source_run_id}/recipe.json")
    assert recipe == Model.load(folder / "un" / "model").about["recipe"]
    assert recipe["seed"] == 0 and recipe["versions"]["numpy"] == np.__version__


def run(folder: Path, table: Path, output: Path, *more: object) -> int:
    data = folder / "data"
    parallel = ("--parallel", data / "corpus.source", data / "corpus.target")
    places = ("--output", output, "--cache-dir", folder / "cache")
    languages = ("--source-language", "en", "--target-language", "es")
    return exit_code("unsupervised", table, *languages, *parallel, *places, *more)


def scored(folder: Path, model: Path, output: Path) -> pd.DataFrame:
    table = folder / "data" / "new.tsv"
    assert exit_code("score", "--model", model, "--input", table, "--output", output, "--quiet") == 0
    return pd.read_csv(output, sep="\t")


def test_scores_are_the_feature_in_standard_deviations(folder: Path, made: None, tmp_path: Path) -> None:
    """P(BAD) of the mean word, turned, from its mean and in its deviation over the same translations."""
    rows = scored(folder, folder / "un" / "model", tmp_path / "scored.tsv")
    model = Model.load(folder / "un" / "model")
    table = pd.read_csv(folder / "data" / "new.tsv", sep="\t", keep_default_na=False)
    segments = Segments.from_columns(
        {"source": list(table.source), "target": list(table.target)}, Tokenizer("en"), Tokenizer("es")
    )
    bad = model.features(segments)["word_quality_synthetic_word_mean"].to_numpy()
    assert bad.min() > 0 and bad.max() < 1 and bad.std() > 0.01
    np.testing.assert_allclose(rows.score, -(bad - bad.mean()) / bad.std(), atol=1e-6)
    assert model.scale.higher_is_better and model.scale.low is None


@pytest.mark.capability
def test_it_orders_translations_as_labels_do(folder: Path, made: None, tmp_path: Path) -> None:
    """The demo's judges, whom the model never saw."""
    data = folder / "data"
    lines = [(data / f"train.{side}").read_text("utf-8").splitlines() for side in ("source", "target")]
    model = Model.load(folder / "un" / "model")
    segments = Segments.from_columns(dict(zip(("source", "target"), lines, strict=True)), *model.tokenizers)
    gold = np.loadtxt(data / "train.scores")
    assert np.corrcoef(model.predict(segments), gold)[0, 1] > 0.3


def test_labels_in_the_table_are_not_read(folder: Path, made: None, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "data" / "new.tsv", sep="\t", keep_default_na=False)
    table["score"] = np.arange(len(table))
    table.to_csv(tmp_path / "new 1: á.tsv", sep="\t", index=False)
    assert run(folder, tmp_path / "new 1: á.tsv", tmp_path / "un") == 0
    one = scored(folder, tmp_path / "un" / "model", tmp_path / "one.tsv")
    other = scored(folder, folder / "un" / "model", tmp_path / "other.tsv")
    assert one.equals(other)


def test_decoder_columns_are_used_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Log-probabilities alone: no parallel text, and the score is their standardised mean."""
    rng = np.random.default_rng(0)
    means = rng.uniform(-3, -0.1, 30).round(3)
    rows = [f"a b\tc d\tc d\t{m - 0.05:.3f} {m + 0.05:.3f} {m:.3f}" for m in means]
    head = "source\ttarget\tsubwords\ttoken_log_probabilities"
    (tmp_path / "new.tsv").write_text("\n".join([head, *rows, ""]), "utf-8")
    languages = ("--source-language", "en", "--target-language", "de")
    output = ("--output", tmp_path / "un", "--cache-dir", tmp_path / "cache")
    assert exit_code("unsupervised", tmp_path / "new.tsv", *languages, *output, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["features"] == ["decoder_mean"] and told["segments"] == 30
    table = pd.read_csv(tmp_path / "new.tsv", sep="\t")
    model = Model.load(tmp_path / "un" / "model")
    columns = {name: list(table[name].astype(str)) for name in head.split("\t")}
    np.testing.assert_allclose(
        model.predict(model.segments(columns)), (means - means.mean()) / means.std(), atol=1e-9
    )


def test_it_has_no_intervals_and_says_why(
    folder: Path, made: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, model = folder / "data" / "new.tsv", folder / "un" / "model"
    code = exit_code(
        "score", "--model", model, "--input", table, "--output", tmp_path / "s.tsv", "--interval", 0.9
    )
    assert code == 2 and not (tmp_path / "s.tsv").exists()
    assert "no prediction intervals; train it again, with labels" in capsys.readouterr().err


def test_from_python_what_cannot_be_scored_is_refused(tmp_path: Path) -> None:
    rows = {"source": ["a"] * 20, "target": ["b"] * 20, "subwords": ["b"] * 20}
    table = pd.DataFrame({**rows, "token_log_probabilities": ["-1 -2"] * 20})

    def made(changed: pd.DataFrame) -> Any:
        return qe.train_without_labels(
            changed, tmp_path / "un", source_language="en", target_language="de", cache=tmp_path / "cache"
        )

    for changed, message in (
        (table.assign(target=[None, *["b"] * 19]), "row 1: .*target"),
        (table.assign(source=[*["a"] * 19, " "]), "row 20: empty source"),
        (table.drop(columns="target"), "no column 'target'"),
        (table.drop(columns="subwords"), "nothing to judge translations by"),
        (table.head(19), "19 translations are too few"),
    ):
        refuses(message, made, changed, error=qe.InputError)
        assert not (tmp_path / "un").exists()
    assert made(table).features["decoder_mean"].eq(-1.5).all()


def test_with_an_encoder_scores_are_the_centred_cosine(folder: Path, tmp_path: Path) -> None:
    """Alone, by numpy; its mean and deviation are those of the same translations. It needs no folder."""
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package)
    import shutil

    from tests.features.encoding.made import BEGIN, END, Tiny, ids_of, onnx_folder

    tiny = Tiny.of_seed()
    encoder = onnx_folder(tmp_path / "tiny", tiny)
    table = pd.read_csv(folder / "data" / "new.tsv", sep="\t")
    made = qe.train_without_labels(
        table, tmp_path / "un", source_language="en", target_language="es", encoder=encoder
    )
    assert made.model.feature_set.names == ["encoder_source_centred_cosine"]

    def centred(texts: pd.Series) -> np.ndarray:
        vectors = np.array([tiny.hidden([BEGIN, *ids_of(text), END]).mean(axis=0) for text in texts])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors -= vectors.mean(axis=0)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    cosines = (centred(table["source"]) * centred(table["target"])).sum(axis=1)
    shutil.rmtree(encoder)
    got = scored(folder, made.folder, tmp_path / "scored.tsv")["score"]
    np.testing.assert_allclose(got, (cosines - cosines.mean()) / cosines.std(), atol=2e-3)
