"""Models as MLflow runs them: by code of this project, without pickles."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow

from features.basics.packages import DISTRIBUTION, version
from qe.tracking.connection import quiet

# The code that MLflow runs for a logged model; it imports rooms above this one, so it is named by its path.
_PYFUNC_MODEL = Path(__file__).resolve().parents[1] / "production" / "pyfunc_model.py"


def save(path: str | Path, **options: Any) -> None:
    """Writes an MLflow model that qe/production/pyfunc_model.py runs, in the present version.

    options  what else `mlflow.pyfunc.save_model` takes
    """
    requirements = [f"{DISTRIBUTION}[train]=={version()}"]
    mlflow.pyfunc.save_model(path, python_model=str(_PYFUNC_MODEL), pip_requirements=requirements, **options)


def spark_scorer(session: Any, folder: Path, config: Mapping[str, Any], output: Mapping[str, str]) -> Any:
    """MLflow's Spark UDF (a column of structs in, one out) for a model that Spark has shipped.

    folder  an empty folder, for the MLflow model: kept until the UDF has been used
    config  what qe/production/pyfunc_model.py reads
    output  columns of the result -> Spark types

    What runs is the present version's pyfunc_model.py, not a copy that a registry holds.
    """
    path = folder / "model"
    result = "struct<" + ", ".join(f"{name}: {kind}" for name, kind in output.items()) + ">"
    with quiet():
        save(path, model_config=dict(config))
        return mlflow.pyfunc.spark_udf(session, str(path), result_type=result, env_manager="local")
