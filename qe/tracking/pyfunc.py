"""Models as MLflow runs them: by code of this project, without pickles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlflow

from features.basics.packages import DISTRIBUTION, version

# The code that MLflow runs for a logged model; it imports rooms above this one, so it is named by its path.
_PYFUNC_MODEL = Path(__file__).resolve().parents[1] / "production" / "pyfunc_model.py"


def save(path: str | Path, requirements: Sequence[str] = (), **options: Any) -> None:
    """Writes an MLflow model that qe/production/pyfunc_model.py runs, in the present version.

    requirements  what pip must install for it, in addition to MLflow; default: this project without training
    options       what else `mlflow.pyfunc.save_model` takes
    """
    needed = [*requirements] or [f"{DISTRIBUTION}=={version()}"]
    mlflow.pyfunc.save_model(path, python_model=str(_PYFUNC_MODEL), pip_requirements=needed, **options)
