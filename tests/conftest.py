"""What tests share: the way to the data beside the checkout."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
# Workers share the cores, and threads of BLAS would wait for each other. No library is loaded yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# No time limits within a test: what is measured is how busy the machine is.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

SHARED_DATA = Path(os.environ.get("QE_SHARED_DATA", ROOT.parent / "shared" / "data"))


# Tests with these fixtures train a model, or read data beside the checkout.
SLOW = {"demo_run", "demo_model", "demo_client", "shared_data"}
ATTACKS = ROOT / "tests" / "attacks"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if ATTACKS in item.path.parents or SLOW & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The path of a file or folder of the shared test data; skips, naming it, where it is absent."""

    def find(relative: str) -> Path:
        path = SHARED_DATA / relative
        if not path.exists():
            pytest.skip(f"test data {path} is absent (set QE_SHARED_DATA to the folder that holds it)")
        return path

    return find


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small demo, trained once for all workers, in a folder and a store of this worker's own."""
    from filelock import FileLock

    from qe.models.model import Model
    from qe.training.train import Outcome

    base = tmp_path_factory.getbasetemp()
    trained = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "trained"
    with FileLock(f"{trained}.lock"):
        if not (trained / "run_id").exists():
            shutil.rmtree(trained, ignore_errors=True)
            trained.mkdir()
            (trained / "run_id").write_text(_train_demo(trained))
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        patch.setenv("MLFLOW_EXPERIMENT_NAME", "tests")
        patch.chdir(folder)
        report = json.loads((folder / "report.json").read_text("utf-8"))
        yield Outcome(report, Model.load(folder / "model"), folder, (folder / "run_id").read_text("utf-8"))


def _train_demo(folder: Path) -> str:
    from features.storage.outputs import locked_folder
    from qe.config import experiment
    from qe.getting_started.demo.generation import generate
    from qe.getting_started.demo.run import EXPERIMENT
    from qe.training.check import check
    from qe.training.train import train

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        patch.setenv("MLFLOW_EXPERIMENT_NAME", "tests")
        patch.chdir(folder)
        with locked_folder(folder, "demo"):
            generate(folder / "data", pairs=2000, train=240, test=80)
        (folder / "mlflow.yaml").write_text("artifact_root: artifacts\n")
        loaded = experiment.load(EXPERIMENT, data_root=folder, overrides=["search.trials=4", "split.folds=3"])
        run_id = train(check(loaded), folder, cache=folder / "cache").run_id
    shutil.copy(folder / "mlflow.db", folder / "trained.db")  # other tests log further runs
    return run_id


@pytest.fixture(scope="session")
def demo_model(demo_run: Any) -> Path:
    """The small demo's model directory; the demo's data lie beside it."""
    return demo_run.output / "model"


@pytest.fixture(scope="session")
def other_model(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model like the demo's that has learned something else: how long a translation is."""
    import pandas as pd
    from sklearn.base import clone

    from features.core.tree_columns import numbers
    from qe.models.model import Model

    model = Model.load(demo_model)
    lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()[1:151]
    source, target = (list(texts) for texts in zip(*(line.split("\t")[1:3] for line in lines), strict=True))
    segments = model.segments({"source": source, "target": target})
    table = pd.DataFrame(numbers(model.features(segments)), columns=model.feature_set.names)
    longest = max(map(len, target))
    learned = clone(model.pipeline).fit(table, [5 - 4 * len(text) / longest for text in target])
    folder = tmp_path_factory.mktemp("other") / "model"
    replace(model, pipeline=learned, name="other").save(folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def outputs_keep_their_schemas() -> Iterator[None]:
    """Everything that tests let verbs write for machines is looked at, where a validator is installed."""
    try:
        import jsonschema
    except ModuleNotFoundError:
        yield
        return
    from qe.display import output_schemas

    @cache
    def validator(name: str) -> Any:
        from qe.cli.outputs import output_schema

        return jsonschema.Draft202012Validator(output_schema(name))

    stamped = output_schemas.stamped

    def looked_at(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
        made = stamped(name, content)
        as_read = json.loads(json.dumps(made))
        mistakes = [
            f"{name}: {each.json_path}: {each.message}" for each in validator(name).iter_errors(as_read)
        ]
        assert not mistakes, mistakes
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_schemas, "stamped", looked_at)
        yield


@pytest.fixture(scope="session", autouse=True)
def tables_are_whole() -> Iterator[None]:
    """The first table of each kind that tests let verbs print is whole at 60, 80, 120 and 200 columns."""
    from qe.display.table import Table
    from tests.display.whole import check_whole

    text, seen = Table.text, set()

    def looked_at(self: Table, width: int, sentences: int | None = None) -> str:
        kind = (self.title, *(column.title for column in self.columns))
        if kind not in seen:
            seen.add(kind)
            for one in (60, 80, 120, 200):
                check_whole(self, one)
        return text(self, width, sentences)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "text", looked_at)
        yield


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's data folder is the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def mlflow_as_before() -> Iterator[None]:
    """What a test sets in MLflow ends with it."""
    names = ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID")
    before = {name: os.environ.get(name) for name in names}
    yield
    if "mlflow" in sys.modules:
        sys.modules["mlflow"].set_tracking_uri(None)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


@pytest.fixture
def demo_client(demo_run: Any) -> Any:
    """MLflow pointed at the small demo's store, whatever ran before."""
    import mlflow

    uri = f"sqlite:///{demo_run.output / 'mlflow.db'}"
    mlflow.set_tracking_uri(uri)
    return mlflow.MlflowClient(uri, uri)
