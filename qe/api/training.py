"""Training from Python, with labels or without."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from features.basics.errors import InputError
from features.basics.hints import checked
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.api.experiments import load_experiment
from qe.config.experiment import Experiment
from qe.data.dataset import Dataset
from qe.data.frames import AnyTable, as_pandas, cells_of
from qe.data.table_rows import needed_texts
from qe.resources.cache import default_cache
from qe.training.ablation import LearningCurve
from qe.training.ablation import learning_curve as curve
from qe.training.check import check
from qe.training.train import Outcome
from qe.training.train import train as run
from qe.training.without_labels import DECODER, Unlabelled, unlabelled_experiment
from qe.training.without_labels import train_without_labels as made


@checked
def train(
    experiment: Experiment | Mapping[str, Any],
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
    experiment : Experiment or mapping
        What `qe.load_experiment` returns, or a mapping that it takes.
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
    experiment = _with_data(experiment, dataset)
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


@checked
def learning_curve(
    experiment: Experiment | Mapping[str, Any],
    sizes: Sequence[int],
    *,
    dataset: Dataset | None = None,
    cache: str | Path | None = None,
    draws: int = 3,
    samples: int | None = None,
    progress: Progress = silent,
) -> LearningCurve:
    """Measures models that learn from fewer rows, as `qe ablate --sizes` does.

    Parameters
    ----------
    experiment : Experiment or mapping
        What `qe.load_experiment` returns, or a mapping that it takes.
    sizes : sequence of int
        Numbers of training rows; at most those of a fold.
    dataset : Dataset, default=None
        Data in memory. None: what the experiment's `dataset` section names.
    cache : str or Path, default=None
        Folder of built resources and feature tables. None: the user's cache folder.
    draws : int, default=3
        Random draws of rows for each size, by the seed of the experiment's `evaluation`.
    samples : int, default=None
        Resamples of intervals. 0: none. None: as many as they need.
    progress : callable, default=silent
        Called with (stage, done, total).

    Returns
    -------
    LearningCurve
        `print` shows it, `to_json()` has its figures, `plot()` draws it.

    Raises
    ------
    qe.InputError
        For sizes larger than a fold, data or settings that cannot be used, and resources with post-edits.
    """
    experiment = _with_data(experiment, dataset)
    folder, seed = default_cache() if cache is None else Path(cache), experiment.evaluation.seed
    return curve(
        experiment, sizes, cache=folder, draws=draws, samples=samples, seed=seed, progress=progress,
        dataset=dataset,
    )  # fmt: skip


def _with_data(experiment: Experiment | Mapping[str, Any], dataset: Dataset | None) -> Experiment:
    if isinstance(experiment, Mapping):
        experiment = load_experiment(experiment)
    if dataset is None and experiment.dataset.format == "in_memory":
        raise InputError(
            "the experiment names no dataset",
            remedy="give `dataset=qe.Dataset.from_frame(...)`, or a `dataset` section",
        )
    return experiment


@checked
def train_without_labels(
    translations: AnyTable,
    output: str | Path,
    *,
    source_language: str,
    target_language: str,
    parallel: tuple[str | Path, str | Path] | None = None,
    encoder: str | Path | None = None,
    tokenized: bool = False,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> Unlabelled:
    """Trains a model on translations that have no labels.

    Its scores are in standard deviations from the mean of the given translations; higher is better.

    Parameters
    ----------
    translations : table of n >= 20 rows, of pandas, polars or Arrow
        Columns `source` and `target`; with `subwords` and `token_log_probabilities` also what the decoder
        said of its output.
    output : str or Path
        Parent folder: the model is written to `output`/model.
    source_language, target_language : str
        Codes such as "en".
    parallel : pair of str or Path, default=None
        Files of source and target text, a sentence a line.
    encoder : str or Path, default=None
        Name of an encoder of yours, or the path of its folder (docs/encoders.md).
    tokenized : bool, default=False
        Whether texts are split at white space alone.
    cache : str or Path, default=None
        Folder of built resources and feature tables. None: the user's cache folder.
    progress : callable, default=silent
        Called with (stage, done, total).

    Returns
    -------
    Unlabelled
        The model, its folder, and the features that it was made of.

    Raises
    ------
    qe.InputError
        For rows that cannot be scored, for fewer than 20, and if there is no parallel text, no encoder and
        nothing that a decoder said.
    """
    columns = _columns(as_pandas(translations))
    kind: Literal["moses", "whitespace"] = "whitespace" if tokenized else "moses"
    tokenizers = Tokenizer(source_language, kind), Tokenizer(target_language, kind)
    name = f"unsupervised-{source_language}-{target_language}"
    files = None if parallel is None else (Path(parallel[0]), Path(parallel[1]))
    experiment = unlabelled_experiment(name, columns, files, encoder)
    check(experiment, in_memory=True)
    return made(
        experiment,
        Segments.from_columns(columns, *tokenizers),
        Path(output),
        cache=default_cache() if cache is None else Path(cache),
        progress=progress,
    )


def _columns(table: pd.DataFrame) -> dict[str, list[str]]:
    for name in ("source", "target"):
        if name not in table.columns:
            told = ", ".join(map(str, table.columns))
            raise InputError(f"the table has no column '{name}'", remedy=f"it has {told or 'none'}")
    names = ("source", "target", *(DECODER if set(DECODER) <= set(table.columns) else ()))
    cells = cells_of(table, "the table")
    columns: dict[str, list[str]] = {name: [] for name in names}
    for number, values in enumerate(zip(*(cells[name] for name in names), strict=True), start=1):
        texts, reason = needed_texts(dict(zip(names, values, strict=True)), names)
        if reason:
            raise InputError(f"row {number}: {reason}", remedy="leave it out, or give its text")
        for name, text in texts.items():
            columns[name].append(text)
    return columns
