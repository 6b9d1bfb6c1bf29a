"""A model that knows nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qe.models import Model
from qe.models.pipeline import Candidate, fit
from tests.factories import TempPaths


@pytest.fixture(scope="session")
def poor(demo_model: Path, tmp_path_factory: TempPaths) -> Path:
    """It says 3 whatever it sees, and marks nothing."""
    model, candidate = Model.load(demo_model), Candidate("mean")
    table = pd.DataFrame(np.zeros((2, len(model.feature_set.names))), columns=model.feature_set.names)
    pipeline = fit(candidate.pipeline(0), table, np.full(2, 3.0))
    folder = tmp_path_factory.mktemp("poor") / "model"
    replace(model, candidate=candidate, pipeline=pipeline, guard=None).save(folder)
    return folder
