"""The MLflow side of a model, as code: what `mlflow models serve` and `spark_udf` run."""

from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.pyfunc.model import PythonModel

from qe.scoring.jobs import frame_of
from qe.scoring.scorer import Options, Scorer


class QualityEstimation(PythonModel):
    """Raw `source` and `target` (and what else the model needs) -> `score`, or a `reason` for none.

    The model configuration may name the Options of a Scorer, and `archive`: the model's folder as Spark
    shipped it to the executors, instead of one inside the MLflow model.
    """

    def load_context(self, context: Any) -> None:
        # No cache: a server calls `predict` from several threads.
        self.scorer = Scorer.load(Path(context.artifacts["model"]), Options(drift=False, cache=0))

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        return frame_of(self.scorer, model_input)


mlflow.models.set_model(QualityEstimation())
