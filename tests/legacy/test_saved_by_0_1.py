"""What version 0.1 (commit d7f25dd) saved loads, and gives the same scores.

`d7f25dd.tar.xz` holds `logged`, the MLflow model of a training on artificial data (300 pairs, 80 labelled
segments; baseline17 and bag_of_words; an average of svr_rbf, m5p and random_forest behind the selector
`correlation`), `bundle`, its resources, and `scores.tsv`, what that commit gave twelve new translations on a
processor with AVX2. Others add products in another order, and round the last bit otherwise: equality to the
last bit is asked of OpenBLAS's code for that processor.
"""

import csv
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from features.core.bundle import Bundle
from features.core.feature_set import FeatureSet
from qe.scoring.jobs import frame_of
from qe.scoring.scorer import Options, Scorer

ARCHIVE = Path(__file__).with_name("d7f25dd.tar.xz")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def rows(saved: Path) -> pd.DataFrame:
    """Twelve new translations and the scores that d7f25dd gave them."""
    table = pd.read_csv(
        saved / "scores.tsv", sep="\t", dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE
    )
    return table.astype({"score": float})


def test_a_model_gives_the_same_scores(saved: Path, rows: pd.DataFrame) -> None:
    scorer = Scorer.load(saved / "logged" / "artifacts" / "model", Options(drift=False))
    np.testing.assert_allclose(frame_of(scorer, rows)["score"], rows["score"], rtol=1e-14)


@pytest.mark.slow
def test_a_logged_mlflow_model_gives_the_same_scores(saved: Path, rows: pd.DataFrame) -> None:
    """In a process of its own: the code inside the MLflow model imports modules by their old names."""
    script = (
        "import sys, mlflow, pandas as pd;"
        "rows = pd.read_csv(sys.argv[2], sep='\\t', dtype=str, quoting=3)[['source', 'target']];"
        "print(*mlflow.pyfunc.load_model(sys.argv[1]).predict(rows)['score'].map(repr))"
    )
    command = [sys.executable, "-c", script, str(saved / "logged"), str(saved / "scores.tsv")]
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    scores = [float(score) for score in done.stdout.split()]
    if platform.machine() == "x86_64":
        np.testing.assert_array_equal(scores, rows["score"])
    np.testing.assert_allclose(scores, rows["score"], rtol=1e-14)


def test_a_bundle_gives_the_same_features(saved: Path, rows: pd.DataFrame) -> None:
    """Fingerprints of resources are those in the manifest, so that nothing is built or trained again."""
    bundle = Bundle(saved / "bundle")
    parts = bundle.manifest["parts"]
    assert {name: bundle.part(name).fingerprint for name in parts} == {
        name: part["fingerprint"] for name, part in parts.items()
    }
    scorer = Scorer.load(saved / "logged" / "artifacts" / "model", Options(drift=False))
    fresh = FeatureSet.make([{"kind": "baseline17"}], bundle)
    segments = scorer.model.segments({name: list(rows[name]) for name in ("source", "target")})
    logged = scorer.model.features(segments)[fresh.names]
    pd.testing.assert_frame_equal(fresh.extract(segments), logged, check_exact=True)
