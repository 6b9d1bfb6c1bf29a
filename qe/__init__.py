"""Quality estimation for machine translation: train models, score translations, compare.

Models are trained on annotated data.

`__all__` lists what a notebook needs (docs/python.md). `qe.statistics`, `qe.data`, `qe.learning` and other
packages have public names of their own. Each name is imported when it is used.

>>> import qe
>>> ours = {"ours": [1.5, 2, 2.5, 4]}
>>> report = qe.evaluate([1, 2, 3, 4], ours, higher_is_better=True, samples=0)
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

from typing import TYPE_CHECKING, Any  # noqa: E402

# Before any library: `features` keeps settings of the working directory out of them.
import features  # noqa: E402

_features = os.path.realpath(features.__file__ or next(iter(features.__path__)))
_features = _features.removesuffix(f"{os.sep}__init__.py")
if _features != os.path.join(_HOME, "features"):  # noqa: PTH118
    raise ImportError(
        f"{_features} hides the package `features` that mtqe needs; "
        "rename it, or start Python in another folder"
    )
from features.basics.exports import exports  # noqa: E402

if TYPE_CHECKING:
    from features.basics.errors import InputError as InputError
    from qe.api.evaluation import compare as compare
    from qe.api.evaluation import evaluate as evaluate
    from qe.api.models import LoadedModel as LoadedModel
    from qe.api.models import load_model as load_model
    from qe.api.training import check_experiment as check_experiment
    from qe.api.training import learning_curve as learning_curve
    from qe.api.training import load_experiment as load_experiment
    from qe.api.training import progress_bars as progress_bars
    from qe.api.training import train as train
    from qe.api.training import train_without_labels as train_without_labels
    from qe.api.transformer import FeatureExtractor as FeatureExtractor
    from qe.data.dataset import Dataset as Dataset
    from qe.data.dataset import LabelScale as LabelScale
    from qe.production.risk import triage as triage

_public, _names = exports(__name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from features.basics.plugins import version

        return version()
    return _public(name)


def __dir__() -> list[str]:
    return [*_names(), "__version__"]
