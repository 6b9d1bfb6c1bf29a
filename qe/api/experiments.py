"""Experiments from Python: a YAML file, or a mapping with the same keys."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qe.config.experiment import IN_MEMORY, Experiment, load, made, on_extended
from qe.training.check import check
from qe.training.plan import Plan

# What stands for a dataset that `qe.train` is given as an object.
_IN_MEMORY = {"format": IN_MEMORY, "path": "."}


def load_experiment(
    source: str | Path | Mapping[str, Any],
    *,
    data_root: str | Path | None = None,
    overrides: Sequence[str] = (),
) -> Experiment:
    """Returns the experiment that a YAML file, or a mapping with the keys of one, describes.

    source     a file; or a mapping, whose `dataset` may be left out if `qe.train` gets the data, and whose
               `extends` names a file in the working directory
    data_root  where relative paths begin; None: the file's folder, or the working directory for a mapping
    overrides  `key.key=value`, the value read as YAML

    Raises qe.InputError, naming the key, for anything unknown or ill-typed.

    >>> load_experiment({"name": "small", "features": ["surface"], "learner": {"kind": "ridge"}}).name
    'small'
    """
    root = None if data_root is None else Path(data_root)
    if isinstance(source, Mapping):
        content, files = on_extended(source, Path.cwd(), root)
        content = {"dataset": _IN_MEMORY, **content}
        return made(content, root or Path.cwd(), overrides=overrides, files=files)
    return load(Path(source), data_root=root, overrides=overrides)


def check_experiment(experiment: Experiment) -> Plan:
    """Returns what `qe.train` would run; `print` shows it, `to_json()` gives it as values. Nothing is read.

    Raises qe.InputError with everything that is wrong with the experiment, a line each: names, parameters,
    their types and ranges, files that are absent. `qe.train` asks the same first.

    >>> check_experiment(load_experiment({"name": "x", "features": ["lm"], "learner": {"kind": "ridge"}}))
    Traceback (most recent call last):
    features.basics.errors.InputError: experiment 'x': resources: the features need source_lm5, ...
    """
    return check(experiment)
