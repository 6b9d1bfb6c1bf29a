"""Training from Python."""

from pathlib import Path

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset
from qe.resources.cache import default_cache
from qe.training.check import check
from qe.training.train import Outcome
from qe.training.train import train as run


def train(
    experiment: Experiment,
    output: str | Path,
    *,
    dataset: Dataset | None = None,
    cache: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Runs one experiment and returns its report and model; figures, plots and model lie in `output`.

    The run is tracked in MLflow as mlflow.yaml says (default: sqlite:///mlflow.db in the working directory).

    dataset    data in memory, instead of what the experiment's `dataset` section names
    cache      folder of built resources and feature tables; None: the user's cache folder
    resume     goes on with a run that was killed
    overwrite  starts anew over an unfinished run
    progress   called with (stage, done, total)

    Raises qe.InputError for data or settings that cannot be used, before anything is written.
    """
    if dataset is None and experiment.dataset.format == "in_memory":
        raise InputError(
            "the experiment names no dataset",
            remedy="give `dataset=qe.Dataset.from_frame(...)`, or a `dataset` section",
        )
    return run(
        check(experiment, in_memory=dataset is not None),
        Path(output),
        dataset=dataset,
        cache=default_cache() if cache is None else Path(cache),
        resume=resume,
        overwrite=overwrite,
        progress=progress,
    )
