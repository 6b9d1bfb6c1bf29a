"""Experiments with trees, and with a kernel computed elsewhere: from file to scores in a fresh process."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
import yaml

from features.basics.progress import silent
from qe.config import experiment
from qe.getting_started.catalogue.feature_tables import extract
from qe.models.explanation import Background, Explainer
from qe.models.model import Model
from qe.models.pipeline import Candidate
from qe.models.pipeline_file import load_pipeline
from qe.training.check import check
from qe.training.train import Outcome, train
from tests.factories import refuses

pytestmark = pytest.mark.slow

N_TRAIN, N_TEST = 48, 12
TREES = [
    {"kind": "constituents", "side": "source"},
    {"kind": "dependencies", "side": "source"},
    {"kind": "dependencies", "side": "target", "tag": "xpos"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Data with parses, in a folder with a store of its own."""
    folder = tmp_path_factory.mktemp("trees")
    patch = pytest.MonkeyPatch()
    patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
    (folder / "mlflow.yaml").write_text("artifact_root: artifacts\n")
    patch.chdir(folder)
    generator = np.random.default_rng(0)
    for name, n in (("train", N_TRAIN), ("test", N_TEST)):
        lines = [json.dumps(segment(generator, f"{name}-{i}")) for i in range(1, n + 1)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    yield folder
    patch.undo()


def segment(generator: np.random.Generator, name: str) -> dict[str, Any]:
    """Words with flat or deep parses; flat ones have better scores."""
    n, deep = int(generator.integers(3, 8)), bool(generator.random() < 0.5)
    words = [f"w{generator.integers(6)}" for _ in range(n)]
    parse = " ".join(f"(N {word})" for word in words)
    if deep:
        parse = "".join(f"(X (N {word}) " for word in words[:-1]) + f"(N {words[-1]})" + ")" * (n - 1)
    heads = [k if deep else min(k, 1) for k in range(n)]
    block = "\n".join(
        f"{k + 1}\t{word}\t_\tNOUN\tN{deep:d}\t_\t{head}\tdep\t_\t_"
        for k, (word, head) in enumerate(zip(words, heads, strict=True))
    )
    score = 4.0 - 1.5 * deep - 0.1 * n + 0.1 * generator.normal()
    text = " ".join(words)
    return {
        "id": name, "source": text, "target": text, "scores": round(float(np.clip(score, 1, 5)), 2),
        "annotation_source": f"# constituency = (S {parse})\n{block}", "annotation_target": block,
    }  # fmt: skip


def settings(**changes: Any) -> dict[str, Any]:
    columns = ("id", "scores", "annotation_source", "annotation_target")
    return {
        "name": "trees",
        "guard": False,
        "dataset": {
            "format": "table", "path": ".", "splits": {"train": "train.jsonl", "test": "test.jsonl"},
            "label": {"name": "effort", "low": 1, "high": 5, "higher_is_better": True},
            "source_language": "en", "target_language": "es", "tokenizer": "whitespace",
            "columns": {name: name for name in columns},
        },
        "features": [{"kind": "surface", "only": ["tokens_source", "tokens_target"]}],
        "trees": TREES,
        "split": {"folds": 3},
        "learner": {"kind": "svr_tree_kernels", "space": {"tree_weight": [0.0, 0.2], "C": [2.0]}},
        "search": {"sampler": "grid", "objective": "mae"},
        "tracking": {"register": False},
        **changes,
    }  # fmt: skip


def run(folder: Path, name: str, **changes: Any) -> Outcome:
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(settings(**changes)))
    return train(check(experiment.load(file)), folder / name, cache=folder / "cache")


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return run(folder, "out")


def test_trees_are_learned_from(outcome: Outcome) -> None:
    report = outcome.report
    assert report["search"]["best"]["learner_params"]["tree_weight"] == 0.2
    systems = report["test"]["systems"]
    assert systems["trees"]["mae"] < 0.5 * systems["(length)"]["mae"]
    assert report["features"]["n"] == 2 and len(report["features"]["trees"]) == 3
    assert outcome.model.columns() == ("source", "target", "annotation_source", "annotation_target")


def test_predictions_of_training_are_those_of_the_saved_model(folder: Path, outcome: Outcome) -> None:
    """To the last bit: all rows, one row, and the file scored in a fresh process."""
    table = pd.read_parquet(outcome.output / "predictions.parquet").query("split == 'test'")
    model = Model.load(outcome.output / "model")
    rows = pd.read_json(folder / "test.jsonl", lines=True)
    columns = {name: rows[name].tolist() for name in model.columns()}
    scores = model.predict(model.segments(columns))
    assert scores.tolist() == table["predicted"].tolist()
    alone = [model.predict(model.segments({k: [v[i]] for k, v in columns.items()}))[0] for i in range(N_TEST)]
    assert alone == scores.tolist()
    rows[list(model.columns())].to_json(folder / "new.jsonl", orient="records", lines=True)
    command = [sys.executable, "-m", "qe", "score", "--model", str(outcome.output / "model")]
    arguments = ["--input", "new.jsonl", "--output", "scored.jsonl", "--quiet", "--explain", "2"]
    subprocess.run([*command, *arguments], check=True, cwd=folder)
    scored = pd.read_json(folder / "scored.jsonl", lines=True, precise_float=True)
    assert scored["score"].tolist() == scores.tolist()
    assert scored["because"].str.contains("sentences of the (?:source|translation) are built: [+-]").any()


def test_the_model_holds_the_support_vectors_trees_alone(outcome: Outcome) -> None:
    learner = Model.load(outcome.output / "model").pipeline.named_steps["learn"]
    support = len(learner.weights_)
    assert 0 < support < N_TRAIN
    assert {name: len(trees) for name, trees in learner.support_trees_.items()} == {
        "constituents_source": support, "dependencies_source": support, "dependencies_target": support
    }  # fmt: skip
    pipeline = outcome.output / "model" / "pipeline.skops"
    with zipfile.ZipFile(pipeline) as stored:
        assert all(name.endswith((".npy", ".json")) for name in stored.namelist())
    assert set(skops.io.get_untrusted_types(file=pipeline)) <= {
        "features.syntax.trees.Trees", "qe.learning.tree_columns.BesideTrees",
        "qe_papers.learners.svr_tree_kernels.TreeKernelSvr", "numpy.dtype",
    }  # fmt: skip


def test_explanations_add_up(folder: Path, outcome: Outcome) -> None:
    model = Model.load(outcome.output / "model")
    rows = pd.read_json(folder / "test.jsonl", lines=True)
    features = model.features(model.segments({name: rows[name].tolist() for name in model.columns()}))
    explainer = Explainer(model, Background.load(outcome.output / "model"))
    shares = explainer.contributions(features)
    assert shares.values.shape == (N_TEST, 2 + 3) and "trees of parses" in shares.method
    np.testing.assert_allclose(shares.base + shares.values.sum(axis=1), model.predict(
        model.segments({name: rows[name].tolist() for name in model.columns()})
    ), atol=1e-9)  # fmt: skip


def test_trees_alone(folder: Path) -> None:
    """Row (e) of the paper: no features. Everything a run makes is made, explanations too."""
    learner = {"kind": "svr_tree_kernels", "params": {"tree_weight": 1.0}, "space": {"C": [1.0, 4.0]}}
    made = run(folder, "alone", features=[], trees=TREES[:1], learner=learner)
    systems = made.report["test"]["systems"]
    assert systems["trees"]["mae"] < 0.5 * systems["(length)"]["mae"] and made.report["features"]["n"] == 0
    model = Model.load(made.output / "model")
    rows = pd.read_json(folder / "test.jsonl", lines=True)
    segments = model.segments({name: rows[name].tolist() for name in model.columns()})
    shares = Explainer(model, Background.load(made.output / "model")).contributions(model.features(segments))
    np.testing.assert_allclose(shares.base + shares.values.sum(axis=1), model.predict(segments), atol=1e-9)


def test_feature_tables_hold_trees_in_brackets(folder: Path) -> None:
    (folder / "extract.yaml").write_text(yaml.safe_dump(settings()))
    extract(experiment.load(folder / "extract.yaml"), folder / "table.parquet", folder / "cache", silent)
    table = pd.read_parquet(folder / "table.parquet")
    assert len(table) == N_TRAIN + N_TEST and table["constituents_source"].str.startswith("(S (").all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learner": {"kind": "ridge"}}, "learner: 'ridge' takes no trees"),
        ({"selection": {"kind": "correlation"}}, "selection: 'correlation' .* trees"),
        ({"trees": [{"kind": "constituents", "side": "target"}]}, "has a constituent tree"),
    ],
)
def test_what_cannot_be_trained(folder: Path, changes: dict[str, Any], message: str) -> None:
    refuses(message, run, folder, "wrong", **changes)
    assert not (folder / "wrong" / "model").exists()


# --- a kernel computed elsewhere ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gram(folder: Path) -> pd.DataFrame:
    """The features whose scalar products the kernel files hold."""
    generator = np.random.default_rng(1)
    values = {}
    for name, n in (("train", N_TRAIN), ("test", N_TEST)):
        scores = pd.read_json(folder / f"{name}.jsonl", lines=True)["scores"].to_numpy()
        values[name] = np.column_stack([scores - 3, 5 + generator.normal(size=(n, 2))])
    for name, rows in values.items():
        header = "\t".join(f"k{i}" for i in range(N_TRAIN))
        kernel = rows @ values["train"].T
        np.savetxt(folder / f"{name}.gram", kernel, "%.17g", "\t", header=header, comments="")
        np.savetxt(folder / f"{name}.raw", rows, "%.17g", "\t", header="a\tb\tc", comments="")
    return pd.DataFrame(values["train"])


@pytest.mark.parametrize("split", [{"folds": 3}, {"folds": 2, "outer": 3}, {"folds": 3, "repeats": 2}])
def test_a_given_kernel_reaches_the_learner_as_it_is(
    folder: Path, gram: pd.DataFrame, split: dict[str, int]
) -> None:
    """Neither imputed nor scaled, each fold with its own rows' columns: the linear kernel of its features."""

    def predictions(name: str, suffix: str, params: dict[str, Any]) -> pd.DataFrame:
        files = {"train": f"train.{suffix}", "test": f"test.{suffix}"}
        made = run(
            folder, f"{name}-{'-'.join(split)}", trees=[], split=split,
            features=[{"kind": "precomputed", "files": files, "columns": "header"}],
            learner={"kind": "precomputed_kernel", "params": {"C": 0.01, **params}, "space": {}},
        )  # fmt: skip
        said = json.loads((made.output / "model" / "model.json").read_text())
        pipeline = made.output / "model" / "pipeline.skops"
        fitted = load_pipeline(pipeline, Candidate(**said["candidate"]), len(said["feature_names"]))
        steps = [step for step, _ in fitted.steps]
        assert steps == (["learn"] if suffix == "gram" else ["impute", "scale", "learn"])
        return pd.read_parquet(made.output / "predictions.parquet")

    given = predictions("gram", "gram", {"precomputed": True})
    assert np.isfinite(given["predicted"]).all()
    # The same by hand: scikit-learn on the features themselves, in the folds of the experiment.
    from sklearn.svm import SVR

    from qe.data.folds import make_folds

    scores = given.query("split == 'train'")["gold"].to_numpy()
    expected = np.full(N_TRAIN, np.nan)
    folds = split.get("outer", split["folds"])
    rows = gram.to_numpy()
    for fitted, held_out in make_folds(N_TRAIN, folds, seed=0, scheme="random"):
        svr = SVR(kernel="linear", C=0.01, epsilon=0.2).fit(rows[fitted], scores[fitted])
        expected[held_out] = svr.predict(rows[held_out])
    column = "nested" if "outer" in split else "predicted"
    ours = given.query("split == 'train'")[column].to_numpy()
    np.testing.assert_allclose(ours, np.clip(expected, 1, 5), atol=2e-3)
