"""Models as MLflow runs them: by code of this project, without pickles."""

from pathlib import Path
from typing import Any

import mlflow

from features.basics.packages import DISTRIBUTION, version

# The code that MLflow runs for a logged model; it imports rooms above this one, so it is named by its path.
_PYFUNC_MODEL = Path(__file__).resolve().parents[1] / "production" / "pyfunc_model.py"


def save(path: str | Path, **options: Any) -> None:
    """Writes an MLflow model that qe/production/pyfunc_model.py runs, in the present version.

    options  what else `mlflow.pyfunc.save_model` takes
    """
    requirements = [f"{DISTRIBUTION}[train]=={version()}"]
    mlflow.pyfunc.save_model(path, python_model=str(_PYFUNC_MODEL), pip_requirements=requirements, **options)
