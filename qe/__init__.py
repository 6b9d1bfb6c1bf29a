"""Quality estimation for machine translation: train on annotated data, score new translations, compare.

`__all__` lists the public Python interface (docs/python.md); each name is imported when it is used.

>>> import qe
>>> report = qe.evaluate([1, 2, 3, 4], {"ours": [1.5, 2, 2.5, 4]}, samples=0)
>>> report.score("ours", "mae")
0.25
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from features.basics.errors import InputError
    from qe.api.comparison import compare
    from qe.api.evaluation import evaluate
    from qe.api.experiments import check_experiment, load_experiment
    from qe.api.models import LoadedModel, load_model
    from qe.api.training import train
    from qe.api.transformer import FeatureExtractor
    from qe.api.unsupervised import train_without_labels
    from qe.data.dataset import Dataset, LabelScale

__all__ = [
    "Dataset",
    "FeatureExtractor",
    "InputError",
    "LabelScale",
    "LoadedModel",
    "check_experiment",
    "compare",
    "evaluate",
    "load_experiment",
    "load_model",
    "train",
    "train_without_labels",
]

_HOMES = {
    "Dataset": "qe.data.dataset",
    "FeatureExtractor": "qe.api.transformer",
    "InputError": "features.basics.errors",
    "LabelScale": "qe.data.dataset",
    "LoadedModel": "qe.api.models",
    "check_experiment": "qe.api.experiments",
    "compare": "qe.api.comparison",
    "evaluate": "qe.api.evaluation",
    "load_experiment": "qe.api.experiments",
    "load_model": "qe.api.models",
    "train": "qe.api.training",
    "train_without_labels": "qe.api.unsupervised",
}


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is asked for."""
    if name == "__version__":
        from features.basics.packages import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module 'qe' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
