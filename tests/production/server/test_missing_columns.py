"""`qe serve --missing-columns impute`: requests may lack the columns that features read by name."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.production.server.protocol import Limits, Refused
from qe.production.server.service import Service
from qe.scoring.scorer import Options, Scorer
from tests.factories import refuses
from tests.models.general import rows, trained


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = rows(60, 1).assign(comet=np.linspace(0, 1, 60))
    folder = tmp_path_factory.mktemp("served")
    return trained(folder, "x", table, ["surface", {"kind": "columns", "names": ["comet"]}]) / "model"


def answer(service: Service, row: dict[str, Any]) -> Any:
    body = json.dumps({"dataframe_records": [row]}).encode()
    return json.loads(service.answer(body, "json", b"").content)["predictions"][0]["score"]


@pytest.mark.slow
def test_a_request_without_a_column_is_refused_or_its_values_are_imputed(model: Path) -> None:
    texts = {"source": "a b", "target": "c d"}
    refuses("needs the column 'comet'", answer, Service.load(model, Limits()), texts, error=Refused)
    served = Service.load(model, Limits(), missing_columns="impute")
    scorer = Scorer.load(model, Options(missing_columns="impute"))
    assert answer(served, texts) == pytest.approx(scorer.score([(texts, "")]).rows[0]["score"])
    with_column = {**texts, "comet": 0.9}
    assert answer(served, with_column) == answer(Service.load(model, Limits()), with_column)
    assert answer(served, with_column) != answer(served, texts)
