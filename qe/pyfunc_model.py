"""The MLflow side of a model, as code: what `mlflow models serve` and `spark_udf` run."""

from pathlib import Path
from typing import Any

import mlflow
import pandas as pd

from qe.model import Model
from qe.scoring import score_frame


class QualityEstimation(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
    """Raw `source` and `target` (and what else the model needs) -> `score`, or a `reason` for none."""

    def load_context(self, context: Any) -> None:
        self.model = Model.load(Path(context.artifacts["model"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        return score_frame(self.model, model_input)


mlflow.models.set_model(QualityEstimation())
