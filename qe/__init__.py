"""Quality estimation for machine translation: train on annotated data, score new translations, compare.

`__all__` lists the public Python interface (docs/python.md); each name is imported when it is used.

>>> import qe
>>> report = qe.evaluate([1, 2, 3, 4], {"ours": [1.5, 2, 2.5, 4]}, samples=0)
>>> report.score("ours", "mae")
0.25
"""

import os
import sys

# `python -m qe` begins, and Python has put the working directory first: it may be a folder from elsewhere, so
# no module is taken from there, unless this package itself is. No import stands before this.
_HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and os.path.realpath(sys.path[0]) != _HOME:
    sys.path[:] = [entry for entry in sys.path if entry != sys.path[0]]

import importlib  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

import features  # noqa: E402, F401 (first: it keeps settings of the working directory out of libraries)

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
