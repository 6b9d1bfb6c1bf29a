"""What the project stores and loads again, as targets of fuzzing: models, bundles, runs, jobs, annotators."""

import contextlib
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import optuna
import pandas as pd

from features import FittedExtractor, ParallelCorpus, Segments
from features.core.bundle import Bundle, build
from features.core.configured import Configured
from features.core.feature_set import checked, configured, from_variant, make_extractor
from features.storage.damage import damage_reported
from features.storage.files import sha256
from qe.config.experiment import StrategySection
from qe.evaluation import leaderboard
from qe.getting_started.demo.generation import generate
from qe.models import sign, verify
from qe.models.pipeline import Candidate
from qe.models.training_rows import HeldOutPredictions
from qe.scoring import Options, Scorer
from qe.tracking.logged_models import model_directory
from qe.training.plan import Space
from qe.training.run_state import JOURNAL, RunState
from qe.training.study import earlier_trials, journal
from qe_treebanks.annotator_folder import MANIFEST as ANNOTATORS
from qe_treebanks.annotator_folder import AnnotatorFolder, train
from tests.attacks.fuzzing import Target
from tests.attacks.models import Workshop, bundle_sealed_again, copy_of, sealed_again
from tests.attacks.test_signatures import write_keys
from tests.factories import score_file
from tests.features.test_extractor_contract import FAMILIES, LABELLED, PAIRS, PARAMETERS, World, unfitted
from tests.qe_treebanks.annotators.made import write_conllu, write_entities, write_trees

ROWS = [
    ({"source": "the house is red .", "target": "la casa es roja ."}, ""),
    ({"source": "a", "target": "x"}, ""),
]
CHUNK = 2
FULL = Options(interval=0.8, explain=2)

# Every learner whose fitted form holds arrays or text of its own, in few words.
CANDIDATES = {
    "svr_rbf": Candidate("svr_rbf"),
    "precomputed_kernel": Candidate("precomputed_kernel"),
    "k_neighbours": Candidate("k_neighbours"),
    "random_forest": Candidate("random_forest", {"n_estimators": 3}),
    "m5p": Candidate("m5p"),
    "mars": Candidate("mars"),
    "lightgbm": Candidate("lightgbm", {"n_estimators": 3}),
    "svm classifier": Candidate("discretised", {"classifier": "svm"}),
    "neighbours classifier": Candidate("discretised", {"classifier": "k_neighbours"}),
    "forest classifier": Candidate(
        "discretised", {"classifier": "forest", "classifier_params": {"n_estimators": 3}}
    ),
    "kernel_ridge": Candidate("kernel_ridge"),
    "mlp_ensemble": Candidate("mlp_ensemble", {"n_members": 2, "epochs": 2}),
    "polynomial": Candidate("polynomial"),
    "averaging": Candidate("averaging", {"members": [{"kind": "ridge"}, {"kind": "k_neighbours"}]}),
    "pca": Candidate("ridge", {}, "pca"),
}


def use_model(folder: Path) -> None:
    """As `qe score` with everything that it can be asked for."""
    Scorer.load(folder, FULL).score(ROWS)
    HeldOutPredictions.load(folder)


def use_part(folder: Path, part: str, extractors: tuple[str, ...], rows: dict[str, list[str]]) -> None:
    """A part of a bundle, and the extractors that take it."""
    bundle = Bundle(folder)
    bundle.part(part)
    segments = segments_of(bundle, rows)
    for kind in extractors:
        checked(make_extractor(from_variant(kind), bundle), segments)


def use_fitted(folder: Path, config: dict[str, Any], bundle: Path, rows: dict[str, list[str]]) -> None:
    """A fitted extractor; as a model loads it."""
    parts = Bundle(bundle)
    extractor = make_extractor(config, parts)
    assert isinstance(extractor, FittedExtractor)
    with damage_reported("what it has learned", folder):
        restored = extractor.restore(folder)
    checked(restored, segments_of(parts, rows))


def segments_of(bundle: Bundle, rows: dict[str, list[str]]) -> Segments:
    return Segments.from_columns(rows, *bundle.tokenizers)


def use_manifest(folder: Path) -> None:
    bundle = Bundle(folder)
    assert bundle.tokenizers
    for part in bundle.manifest["parts"]:
        bundle.part(part)


def use_corpus(folder: Path) -> None:
    """The encoded corpus of a bundle, of which another part is built."""

    def gone() -> ParallelCorpus:
        raise AssertionError("the corpus is there")

    build(gone, folder, ["target_truecaser"], provenance=Bundle(folder).manifest["provenance"])


def use_signature(folder: Path, key: Path) -> None:
    verify(folder, key)


def use_state(folder: Path) -> None:
    RunState.open(folder, resume=True, overwrite=False).claim("0123", [])


def use_journal(folder: Path) -> None:
    earlier_trials(folder, Space((StrategySection(kind="ridge"),), ()))


def use_report(folder: Path) -> None:
    """As `qe evaluate` of finished runs."""
    leaderboard.make([folder], samples=99)


def use_job(folder: Path, model: Path, rows: Path) -> None:
    """A scoring job that is gone on with, in a copy: it ends by removing what it was."""
    with TemporaryDirectory() as name:
        copy_of(folder, Path(name) / "job")
        output = Path(name) / "job" / "out.tsv"
        score_file(model, [rows], output, chunk=CHUNK, resume=True, workers=1)


def use_mlflow_model(folder: Path) -> None:
    model_directory(f"file://{folder}")


def use_annotators(folder: Path) -> None:
    """As `qe annotate`."""
    list(AnnotatorFolder(folder).annotate([["la", "luna", "busca", "el", "gato", "."], ["x"]]))


def relist(folder: Path) -> None:
    """The manifest of annotators with the checksums of what lies there, as a forger writes it."""
    content = json.loads((folder / ANNOTATORS).read_text("utf-8"))
    for task, about in content["tasks"].items():
        about["files"] = {file.name: sha256(file) for file in (folder / task).iterdir()}
    (folder / ANNOTATORS).write_text(json.dumps(content), "utf-8")


def models(workshop: Workshop) -> Iterator[Target]:
    """The files of models: one with everything in it, and the pipelines of all kinds of learners."""
    damage_reported = workshop.model("whole")
    for what in (
        "model.json",
        "intervals",
        "intervals.scores",
        "held_out",
        "explanation",
        "profile",
        "fitted",
        "resources",
    ):
        yield Target(f"model: {what}", damage_reported, use_model, (), sealed_again, what)
    yield Target("model: any damage", damage_reported, use_model)
    for name, candidate in CANDIDATES.items():
        folder = workshop.model(f"of {name}", candidate)
        yield Target(f"pipeline: {name}", folder, use_model, (), sealed_again, "pipeline.skops")


def states(workshop: Workshop, scratch: Path) -> Iterator[Target]:
    """What runs and jobs leave, what MLflow keeps beside a model, and a signature."""
    run = scratch / "run"
    run.mkdir()
    RunState(run, fingerprint="0123", run_id="run").write(finished=False)
    study(run / JOURNAL)
    report(run)
    yield Target("run: state.json", run, use_state, (), None, "state.json")
    yield Target("run: study.journal", run, use_journal, (), None, JOURNAL)
    yield Target("run: report.json", run, use_report, (), None, "report.json")
    yield Target("run: predictions", run, use_report, (), None, "predictions.parquet")
    yield Target("job", *job(workshop, scratch))
    logged = copy_of(workshop.model("logged"), scratch / "logged" / "model").parent
    (logged / "MLmodel").write_text("flavors: {python_function: {artifacts: {model: {path: model}}}}\n")
    yield Target("MLmodel", logged, use_mlflow_model, (), None, "MLmodel")
    signed = workshop.model("signed")
    write_keys(scratch, "own")
    sign(signed, scratch / "own.pem")
    yield Target("model.sig", signed, use_signature, (scratch / "own.pub",), None, "model.sig")


def study(file: Path) -> None:
    """A study of three trials."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    made = optuna.create_study(study_name="study", storage=journal(file))
    made.optimize(lambda trial: trial.suggest_float("ridge.alpha", 0.1, 1.0), n_trials=3)


def report(run: Path) -> None:
    """report.json and predictions of a finished run, with what a leaderboard reads of them."""
    numbers = [1.0 + i % 5 for i in range(40)]
    table = {"id": [f"train-{i}" for i in range(40)], "split": "train", "gold": numbers}
    pd.DataFrame({**table, "predicted": numbers[::-1]}).to_parquet(run / "predictions.parquet")
    label = {"name": "effort", "low": 1.0, "high": 5.0, "higher_is_better": True}
    told = {
        "experiment": {"name": "small", "description": "small", "published": None},
        "data": {"name": "demo", "label": label},
        "nested": None,
        "cross_validation": {"selected_on_these_folds": True},
        "features": {"n": 17},
        "seconds": 1.0,
    }
    (run / "report.json").write_text(json.dumps(told), "utf-8")


def job(workshop: Workshop, scratch: Path) -> tuple[Path, Any, tuple[Path, Path], None, str]:
    """A scoring job that was stopped after two chunks, and how it is gone on with."""
    model, rows = workshop.model("of job"), scratch / "rows.tsv"
    lines = [f"the house is red .\tla casa es roja {i} ." for i in range(6)]
    rows.write_text("\n".join(["source\ttarget", *lines]) + "\n", "utf-8")
    folder = scratch / "job"
    folder.mkdir()

    def stop(stage: str, done: int, total: int | None) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        score_file(model, [rows], folder / "out.tsv", chunk=CHUNK, workers=1, progress=stop)
    return folder, use_job, (model, rows), None, "out.tsv.partial/"


def parts(bundle: Path, rows: dict[str, list[str]]) -> Iterator[Target]:
    """Every part of a bundle, with the extractors that take it and do not learn."""
    for part in json.loads((bundle / "manifest.json").read_text())["parts"]:
        takers = tuple(name for name in there() if part in _takes(name) and not _learns(name))
        yield Target(f"part: {part}", bundle, use_part, (part, takers, rows), bundle_sealed_again, f"{part}/")
    yield Target("bundle: manifest", bundle, use_manifest, (), None, "manifest.json")
    yield Target("bundle: corpus", bundle, use_corpus, (), bundle_sealed_again, "corpus/")


def learned(world: World, bundle: Path, rows: dict[str, list[str]]) -> Iterator[Target]:
    """What every extractor that learns from labels has learned."""
    for kind in filter(_learns, there()):
        extractor = unfitted(world, kind)
        assert isinstance(extractor, FittedExtractor)
        labels = {name: world.labels[name] for name in extractor.labels_used()}
        folder = world.folder / f"learned-{kind}"
        folder.mkdir()
        extractor.fit(world.segments, labels).save(folder)
        yield Target(f"learned: {kind}", folder, use_fitted, (world.config(kind), bundle, rows))


def annotators(scratch: Path) -> Iterator[Target]:
    """A folder of annotators of every task."""
    folder, treebank = scratch / "annotators", write_conllu(scratch / "treebank.conllu")
    for task in ("pos", "dependencies"):
        train(task, [treebank], "es", folder, {"epochs": 1})
    train("constituents", [write_trees(scratch / "trees.mrg")], "es", folder, {"n_best": 3})
    train("entities", [write_entities(scratch / "entities.txt")], "es", folder, {"epochs": 1})
    for task in ("pos", "dependencies", "constituents", "entities"):
        yield Target(f"annotators: {task}", folder, use_annotators, (), relist, f"{task}/")
    yield Target("annotators: manifest", folder, use_annotators, (), None, ANNOTATORS)


def stored(scratch: Path) -> Iterator[Target]:
    """Everything that is stored."""
    workshop = Workshop(scratch / "workshop")
    yield from models(workshop)
    yield from states(workshop, scratch)
    yield from annotators(scratch)
    place = scratch / "world"
    world = World(place, generate(place / "data", pairs=PAIRS, train=LABELLED, test=10, new=10))
    rows = {name: [*column[:3], column[3]] for name, column in world.segments.columns() if name != "id"}
    for kind in there():
        bundle = world.bundle(world.config(kind)).path
    yield from parts(bundle, rows)
    yield from learned(world, bundle, rows)


def there() -> list[str]:
    """The extractors whose packages are installed."""
    packages = {"morphemes": "morfessor", "encoder": "onnx"}
    return [kind for kind in FAMILIES if kind not in packages or find_spec(packages[kind])]


def _takes(extractor: str) -> list[str]:
    return list(_configured(extractor).parts())


def _learns(extractor: str) -> bool:
    return issubclass(_configured(extractor).kind, FittedExtractor)


def _configured(name: str) -> Configured:
    return configured({"kind": name} if name in PARAMETERS else from_variant(name))
