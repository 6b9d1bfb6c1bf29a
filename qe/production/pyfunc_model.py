"""The MLflow side of a model, as code: what `mlflow models serve` and `spark_udf` run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.pyfunc.model import PythonModel

from qe.scoring.jobs import frame_of
from qe.scoring.scorer import Options, Scorer

_OPTIONS = {"words": "tokens"}  # the other parameters have their names


class QualityEstimation(PythonModel):
    """MLflow model: raw columns -> `score`, or a `reason` for none; `PARAMS` of qe.tracking add columns."""

    def load_context(self, context: Any) -> None:
        # No cache: a server calls `predict` from several threads.
        self.folder, self.options = Path(context.artifacts["model"]), Options(drift=False, cache=0)
        self.scorer = Scorer.load(self.folder, self.options)
        self._last = self.options, self.scorer

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        given = {_OPTIONS.get(name, name): value for name, value in (params or {}).items() if value}
        options, scorer = replace(self.options, **given), self.scorer
        if options != self.options:
            known, scorer = self._last
            if options != known:
                scorer = Scorer.load(self.folder, options, self.scorer.model)
                self._last = options, scorer
        return frame_of(scorer, model_input)


mlflow.models.set_model(QualityEstimation())
