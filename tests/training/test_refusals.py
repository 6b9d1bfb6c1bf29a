"""What training refuses, by the place that its message names."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import qe
from qe.config import experiment
from qe.data.dataset import Dataset
from qe.getting_started.demo.run import EXPERIMENT
from qe.training.ablation import ablate, learning_curve
from qe.training.check import check, settings_of
from qe.training.preparation import prepare
from qe.training.reading import read_dataset, rescaled
from qe.training.search import Helpers
from qe.training.study import earlier_trials, journal
from qe.training.train import train
from tests.factories import refuses
from tests.training import test_auxiliary_labels as labels
from tests.training import test_columns as columns
from tests.training import test_own_texts as texts
from tests.training import test_row_weights as weights
from tests.training.several import made, section, write_three
from tests.training.test_ablation import loaded
from tests.training.test_auxiliary import DA, HTER
from tests.training.test_search import DATA, objective, ridge, run
from tests.training.test_search import section as search

Call = Callable[[Path], Any]


def trained(learner: Any = None, trial_number: int | None = None, **keys: Any) -> Call:
    """A search with these settings."""
    return lambda _: run(objective([learner or ridge()]), search(**keys), trial_number)


def damaged(line: str) -> Call:
    """A study that goes on with a journal of this line."""

    def call(folder: Path) -> Any:
        (folder / "study.journal").write_text(line + "\n")
        return earlier_trials(folder, objective([ridge()]).space)

    return call


def foreign_study(folder: Path) -> Any:
    theirs = optuna.create_study(study_name="mine", storage=journal(folder / "shared.journal"))
    theirs.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    storage = journal(folder / "shared.journal")
    return run(objective([ridge()]), search(), name="mine", storage=storage, identity=DATA)


def negative_weight(folder: Path) -> Any:
    plan = check(weights.made(folder, {"column": "trust"}))
    text = (folder / "rows.tsv").read_text("utf-8").replace("\t3\n", "\t-3\n", 1)
    (folder / "rows.tsv").write_text(text, "utf-8")
    return prepare(plan, folder / "cache")


def unknown_feature(folder: Path) -> Any:
    params = {"n_estimators": 5, "min_child_samples": 1, "monotone_constraints": {"sorce length": 1}}
    learner = {"kind": "lightgbm", "params": params, "space": {}}
    return weights.weights_in(folder, "none", learner=learner)


def frame(**changed: Any) -> Call:
    """Labels and weights in a frame, some of them these."""
    rows = {"src": ["a", "b"], "mt": ["c", "d"], "score": ["1", "2"], "row_weights": [1, "2"], **changed}
    languages = {"source_language": "en", "target_language": "de", "higher_is_better": True}
    return lambda _: Dataset.from_frame(pd.DataFrame(rows), **languages)  # type: ignore[arg-type]


def cell(value: str) -> Call:
    """A table that has this in the column `comet`."""

    def call(folder: Path) -> Any:
        table = columns.frame().astype({"comet": object})
        table.loc[3, "comet"] = value
        return read_dataset(columns.experiment(columns.written(table, folder / "t.tsv")))

    return call


def column(*features: dict[str, Any], **renamed: str) -> Call:
    """A table with these columns renamed, and these features of it."""

    def call(folder: Path) -> Any:
        path = columns.written(columns.frame().rename(columns=renamed), folder / "t.tsv")
        return read_dataset(columns.experiment(path, list(features)))

    return call


def mixed(**more: Any) -> Call:
    """Training with another label mixed into the one that is learned."""

    def call(folder: Path) -> Any:
        labels.write_rows(folder)
        return labels.prepared(folder, **more)

    return call


def own_texts(**more: Any) -> Call:
    """Training with resources of the segments' own texts."""

    def call(folder: Path) -> Any:
        texts.write(folder / "rows.tsv")
        return prepare(check(texts.made(folder, **more)), folder / "cache")

    return call


def curve_of_own_texts(folder: Path) -> Any:
    texts.write(folder / "rows.tsv")
    return learning_curve(texts.made(folder), [10], cache=folder / "cache")


def beside(features: Any = ("surface",), **other: Any) -> Call:
    """Training with an auxiliary dataset."""

    def call(folder: Path) -> Any:
        write_three(folder)
        both = section("first.tsv"), section("other.tsv", higher=False, **other)
        return prepare(check(made(folder, *both, features=list(features))), folder / "cache")

    return call


def helper(folder: Path) -> Any:
    """A helper in another process, which cannot read data in memory."""
    dataset = {"format": "in_memory", "path": "gone"}
    plan = check(experiment.from_mapping({**NO_DATA, "dataset": dataset}, folder), in_memory=True)
    with Helpers(plan, None, folder, 2).working_on("x.journal"):
        pass


def sweep(*each: str) -> Call:
    return lambda _: settings_of(list(each))


NO_DATA = {"name": "x", "features": ["surface"], "learner": {"kind": "ridge"}}
CASES: list[tuple[str, Call]] = [
    ("'acme-nowhere', which is not installed", trained(sampler="acme-nowhere:one")),
    ("'optuna.samplers.Nothing' cannot be loaded", trained(sampler="optuna.samplers.Nothing")),
    ("is no class made from BaseSampler", trained(sampler="optuna.pruners.MedianPruner")),
    ("neither DISTRIBUTION:NAME", trained(sampler="antigravity.Sampler")),
    ("search.sampler: .*'seed'", trained(sampler_params={"seed": 1})),
    ("a grid needs a list", trained(ridge({"alpha": {"low": 1, "high": 2.5}}), sampler="grid")),
    ("learner.space.alpha: .*'big'", trained(ridge({"alpha": "big"}))),
    ("learner.space.alpha: .*low <= high", trained(ridge({"alpha": {"low": 3.0, "high": 1.0}}))),
    ("learner 'ridge': .*lpha", trained(ridge({}, lpha=1))),
    ("no trial 9", trained(trials=3, trial_number=9)),
    ("study.journal: .*damaged .*study_name", damaged('{"op_code": 0, "worker_id": "a"}')),
    ("study.journal: .*damaged .*trial_id", damaged('{"op_code": 5}')),
    ("study.journal: holds no study", damaged("[]")),
    ("trials that qe did not make", foreign_study),
    ("weights: .*no column 'turst'", lambda folder: weights.weights_in(folder, {"column": "turst"})),
    ("rows.tsv:4: the weight", negative_weight),
    ("'lightgbm': unknown feature 'sorce length'", unknown_feature),
    ("row 1: the weight .*is -1, off", frame(row_weights=[-1, 2])),
    *((f"row 2: the weight.* is .*{text}", frame(row_weights=[1, text])) for text in ("1_0", "٣", "1e400")),
    *((f"row 2: the label.* is .*{text}", frame(score=["1", text])) for text in ("1_0", "٣", "1e400")),
    *((rf"t\.tsv:5: the comet is.*{value}", cell(value)) for value in ("high", "nan", "1e999")),
    ("no column 'comet'", column(*columns.FEATURES, comet="COMET 22")),
    *(
        (f"'{name}' is a label", column({"kind": "columns", "names": [name]}))
        for name in ("score", "post_edit", "scores")
    ),
    ("auxiliary_labels.hter: .*no post-edits", mixed(dataset=section("rows.tsv"))),
    (
        "auxiliary_labels.hter: the label is this one",
        mixed(dataset=section("rows.tsv", False, columns={"scores": "hter", "post_edit": "post_edit"})),
    ),
    (
        "auxiliary_labels.da: .*no direct assessments",
        mixed(auxiliary_labels={"da": 1}, dataset=section("rows.tsv", False, columns={"scores": "hter"})),
    ),
    ("auxiliary_labels: .*at most 1", mixed(auxiliary_labels={"da": 1, "hter": 1})),
    ("auxiliary_labels.ter: ", mixed(auxiliary_labels={"ter": 1})),
    ("hter: .*greater than 0.*got 0", mixed(auxiliary_labels={"hter": 0})),
    ("hter: .*greater than 0.*got nan", mixed(auxiliary_labels={"hter": float("nan")})),
    ("'hter' cannot be used as 'da'", lambda _: rescaled(np.ones(2), HTER, np.ones(2), DA, "none")),
    ("resources.texts: a learning curve", curve_of_own_texts),
    ("names no dataset", lambda _: qe.learning_curve(NO_DATA, [50])),
    ("unknown format 'in_memory'", helper),
    ("expected key=value,value", sweep("seed")),
    ("has no value", sweep("seed=4..0")),
    ("names 'seed' twice", sweep("seed=0..1", "seed=5")),
    ("1,100 runs", sweep("seed=0..99", "split.seed=0..10")),
]
SLOW: list[tuple[str, Call]] = [
    (r"dataset.1 \(other.tsv\): `together` needs", beside(together=True, target="es")),
    ("dataset.1 .*: unknown split 'dev'", beside(train=["dev"])),
    ("dataset.1 .*: labels 'hter'", beside(scaling="none")),
    ("dataset.1 .*: all sources", beside(path="first.tsv", together=True)),
    ("no column 'subwords'", beside([{"kind": "decoder"}])),
    ("resources.texts.*: .*'reference'", own_texts(resources={"texts": ["target"]})),
    ("together with `bundle`", own_texts(resources={"texts": ["post_edit"], "bundle": "b"})),
    ("own texts are not", own_texts(features=["tag_ambiguity"])),
    ("cannot look rows up", own_texts(features=["word_confidence"])),
]


@pytest.mark.parametrize(
    ("place", "call"), [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_what_training_refuses(place: str, call: Call, tmp_path: Path) -> None:
    refuses(place, call, tmp_path)
    assert not list(tmp_path.rglob("model"))


# Settings of the demo's experiment -> what of them is refused.
DEMO = {
    "split.folds=500": "500 folds need",
    "split={by: block, block: 60, outer: 5}": "5 folds need at least 5 blocks .*, but there are 4",
    "search.objective=maee": "metric 'maee'.*'mae'",
    "resources=null": "name a parallel corpus",
    "dataset.lable=x": "no key 'lable'|unknown key",
    "weights=annotators": "number of annotators",
    "search={sampler: grid, sampler_params: {seed: 1}}": "search.sampler_params: a grid",
    "search={pruner: optuna.pruners.NopPruner, objective: [mae, rmse]}": "search.pruner: .*one objective",
    "tracking.tags={mlflow.user: me}": "tracking.tags.mlflow.user: ",
}


@pytest.mark.parametrize("override", DEMO)
def test_what_is_refused_of_the_demo(
    demo_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, override: str
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")

    def call() -> None:
        plan = experiment.load(EXPERIMENT, data_root=demo_run.output, overrides=[override])
        train(check(plan), tmp_path / "out", cache=demo_run.output / "cache")

    refuses(DEMO[override], call)
    assert not any((tmp_path / "out" / name).exists() for name in ("report.json", "study.journal"))


def test_what_cannot_be_ablated(demo_run: Any) -> None:
    ablated = partial(ablate, cache=demo_run.output / "cache")
    refuses("no family 'lm'", ablated, loaded(demo_run, "[baseline17, surface]"), base=["lm"])
    refuses("at least two feature families", ablated, loaded(demo_run, "[baseline17]"))
