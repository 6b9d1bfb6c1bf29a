"""Training from Python."""

from pathlib import Path

from features.basics.arguments import checked
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset
from qe.resources.cache import default_cache
from qe.training.check import check
from qe.training.train import Outcome
from qe.training.train import train as run


@checked
def train(
    experiment: Experiment,
    output: str | Path,
    *,
    dataset: Dataset | None = None,
    cache: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int = 1,
    progress: Progress = silent,
) -> Outcome:
    """Runs one experiment and returns its report and model.

    The run is tracked in MLflow as mlflow.yaml says (docs/mlflow.md: the order of stores).

    Parameters
    ----------
    experiment : Experiment
        What `qe.load_experiment` returns.
    output : str or Path
        Folder of figures, plots and model.
    dataset : Dataset, default=None
        Data in memory. None: what the experiment's `dataset` section names.
    cache : str or Path, default=None
        Folder of built resources and feature tables. None: the user's cache folder.
    resume : bool, default=False
        Whether to go on with a run that was killed.
    overwrite : bool, default=False
        Whether to replace an existing run.
    workers : int, default=1
        Processes that search. What is tried then depends on which is faster.
    progress : callable, default=silent
        Called with (stage, done, total).

    Returns
    -------
    Outcome
        The report (JSON values), the model, and the paths of both.

    Raises
    ------
    qe.InputError
        For data or settings that cannot be used, before anything is written.
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
        workers=workers,
        progress=progress,
    )
