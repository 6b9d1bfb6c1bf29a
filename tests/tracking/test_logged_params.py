"""What MLflow itself makes of a logged model: params ask for more, and no package of training is needed."""

import json
import subprocess
import sys
from pathlib import Path

import mlflow
import pandas as pd
import pytest

import qe
from features.basics.plugins import version
from qe.models.card import requirements
from qe.models.model import Model
from qe.models.pipeline import Candidate
from qe.tracking import runs
from qe.tracking.logged_models import Described, log_model, model_directory
from tests.factories import refuses

pytestmark = pytest.mark.slow

TEXTS = {"source": ["the red house", "a tree ."], "target": ["la casa roja", "un arbol ."]}

# What a bare installation of the requirements lacks.
ALONE = """
import sys
for name in ("optuna", "matplotlib", "psutil", "jinja2", "lightgbm"):
    sys.modules[name] = None
import json, logging, mlflow, pandas
model = mlflow.pyfunc.load_model(sys.argv[1])
scored = model.predict(pandas.DataFrame(json.loads(sys.argv[2])), params={"interval": 0.9, "explain": 2})
print(json.dumps(scored.to_dict("list")))
"""


@pytest.fixture
def logged(demo_model: Path, store: Path) -> Path:
    """The MLflow model that the demo's becomes."""
    model = Model.load(demo_model)
    with runs.run("one") as run:
        described = Described("one", requirements=requirements(model))
        identity = log_model(run, demo_model, columns=model.columns(), described=described)
        return next(
            path for path in model_directory(f"models:/{identity}").parents if (path / "MLmodel").is_file()
        )


def test_params_ask_for_what_qe_score_gives(logged: Path, demo_model: Path) -> None:
    table = pd.DataFrame(TEXTS)
    model, ours = mlflow.pyfunc.load_model(str(logged)), qe.load_model(demo_model)
    assert list(model.predict(table)) == ["score", "reason"]
    asked = model.predict(table, params={"interval": 0.9, "explain": 2})
    expected = ours.predict(table, interval=0.9, explain=2)
    pd.testing.assert_frame_equal(asked, expected)
    assert "outside" in model.predict(table, params={"outside": True})
    assert list(model.predict(table)) == ["score", "reason"]
    refuses("interval", model.predict, table, params={"interval": "much"}, error=mlflow.MlflowException)


def test_no_package_of_training_is_needed(logged: Path, demo_model: Path) -> None:
    lines = (logged / "requirements.txt").read_text("utf-8").split()
    columns = ["langcodes", "numba", "rapidfuzz", "regex", "sacremoses", "simplemma", "snowballstemmer"]
    assert sorted(line.partition("==")[0] for line in lines) == sorted(["mlflow", "mtqe", *columns])
    assert f"mtqe=={version()}" in lines
    command = [sys.executable, "-W", "ignore", "-c", ALONE, str(logged), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = qe.load_model(demo_model).predict(pd.DataFrame(TEXTS), interval=0.9, explain=2)
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told["score"] == expected["score"].tolist() and told["because"] == expected["because"].tolist()


def test_lightgbm_is_required_where_it_predicts(demo_model: Path) -> None:
    model = Model.load(demo_model)
    plain = requirements(model)
    for learner in (Candidate("lightgbm"), Candidate("averaging", {"members": [{"kind": "lightgbm"}]})):
        rng = pd.DataFrame({"a": range(50)})
        fitted = learner.pipeline(0).fit(rng, rng["a"].to_numpy(float))
        changed = Model("x", learner, fitted, model.feature_set, model.scale, model.tokenizers, model.bundle)
        more = {*requirements(changed)} - {*plain}
        assert [line.partition("==")[0] for line in more] == ["lightgbm"]
