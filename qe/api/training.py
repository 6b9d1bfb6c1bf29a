"""Experiments and training from Python, with labels or without; progress bars."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from annotated_types import MinLen

from features.basics.errors import InputError
from features.basics.hints import Count, checked
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.config.experiment import IN_MEMORY, Experiment, from_mapping, load, on_extended
from qe.data.dataset import Dataset
from qe.data.frames import AnyTable, as_pandas, cells_of
from qe.data.table_rows import needed_texts
from qe.resources.bundle_source import default_cache
from qe.training.ablation import LearningCurve
from qe.training.ablation import learning_curve as curve
from qe.training.check import check
from qe.training.plan import Plan
from qe.training.train import Outcome
from qe.training.train import train as run
from qe.training.without_labels import DECODER, Unlabelled, unlabelled_experiment
from qe.training.without_labels import train_without_labels as made

# What stands for a dataset that `qe.train` is given as an object.
_IN_MEMORY = {"format": IN_MEMORY, "path": "."}


@checked
def load_experiment(
    source: str | Path | Mapping[str, Any],
    *,
    data_root: str | Path | None = None,
    overrides: Sequence[str] = (),
) -> Experiment:
    """Returns the experiment that a YAML file, or a mapping with the keys of one, describes.

    Parameters
    ----------
    source : str, Path or mapping
        A file; or a mapping, which needs no `dataset` if `qe.train` gets the data, and whose `extends` names
        a file in the working directory.
    data_root : str or Path, default=None
        Folder where relative paths begin. None: the file's folder, or the working directory for a mapping.
    overrides : sequence of str, default=()
        Settings to change, as `key.key=value`; the value is read as YAML.

    Returns
    -------
    Experiment
        All settings, with absolute paths.

    Raises
    ------
    qe.InputError
        For a key that is unknown and a value of a wrong type; the message names the key.

    Examples
    --------
    >>> load_experiment({"name": "small", "features": ["surface"], "learner": {"kind": "ridge"}}).name
    'small'
    """
    root = None if data_root is None else Path(data_root)
    if isinstance(source, Mapping):
        content, files = on_extended(source, Path.cwd(), root)
        content = {"dataset": _IN_MEMORY, **content}
        return from_mapping(content, root or Path.cwd(), overrides=overrides, files=files)
    return load(Path(source), data_root=root, overrides=overrides)


@checked
def check_experiment(experiment: Experiment) -> Plan:
    """Returns what `qe.train` would run. Nothing is read.

    Parameters
    ----------
    experiment : Experiment
        What `qe.load_experiment` returns.

    Returns
    -------
    Plan
        `print` shows it, `to_json()` gives its values.

    Raises
    ------
    qe.InputError
        With everything that is wrong with the experiment, a line each: names, parameters, their types and
        ranges, files that are absent. `qe.train` asks the same first.

    Examples
    --------
    >>> check_experiment(load_experiment({"name": "x", "features": ["lm"], "learner": {"kind": "ridge"}}))
    Traceback (most recent call last):
    features.basics.errors.InputError: experiment 'x': resources: the features need source_lm5, ...
    """
    return check(experiment)


@checked
def train(
    experiment: Experiment | Mapping[str, Any],
    output: str | Path,
    *,
    dataset: Dataset | None = None,
    cache: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: Count = 1,
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
    sizes: Annotated[Sequence[Count], MinLen(1)],
    *,
    dataset: Dataset | None = None,
    cache: str | Path | None = None,
    draws: Count = 3,
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
        problem = "the experiment names no dataset"
        raise InputError(problem, remedy="give `dataset=qe.Dataset.from_frame(...)`, or a `dataset` section")
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


def progress_bars() -> Progress:
    """Returns a `progress` that draws a bar for every stage: widgets in a notebook, else text.

    Returns
    -------
    callable
        For the parameter `progress` of `qe.train`, `qe.evaluate`, `qe.train_without_labels`.

    Raises
    ------
    qe.InputError
        If tqdm is not installed (it comes with `mtqe[train]`).

    Examples
    --------
    >>> from qe import progress_bars
    >>> progress = progress_bars()
    >>> for done in range(3):
    ...     progress("work", done + 1, 3)
    """
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise InputError("progress bars need tqdm", remedy="pip install 'mtqe[train]'") from error
    bars: dict[str, tqdm] = {}
    in_notebook = any(base.__module__ == "tqdm.notebook" for base in tqdm.__mro__)

    def show(stage: str, count: int, total: int | None) -> None:
        key = stage.partition(" · best ")[0]
        if key not in bars:
            bars[key] = tqdm(desc=stage, total=total, leave=in_notebook)
        bar = bars[key]
        bar.total = total
        bar.set_description(stage, refresh=False)
        bar.update(count - bar.n)
        if count == total:
            bar.leave = True
            bars.pop(key).close()

    return show
