"""Experiments from Python: a YAML file, or a mapping with the same keys."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from features.basics.hints import checked
from qe.config.experiment import IN_MEMORY, Experiment, from_mapping, load, on_extended
from qe.training.check import check
from qe.training.plan import Plan

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
