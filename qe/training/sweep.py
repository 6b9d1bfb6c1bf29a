"""The runs of a sweep: all combinations of settings, checked as one plan each."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

from features.basics.assignments import assigned
from features.basics.errors import InputError
from features.storage import strict_yaml
from qe.training.check import load
from qe.training.plan import Plan

_RANGE: Final = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)")
MAX_RUNS: Final = 1000  # of one sweep, unless more are allowed
Setting = Mapping[str, str]  # key -> value, as YAML


def settings_of(sweep: Sequence[str], max_runs: int = MAX_RUNS) -> list[Setting]:
    """All combinations of `KEY=VALUE,VALUE` and `KEY=FIRST..LAST`.

    >>> settings_of(["learner.kind=ridge,lightgbm", "seed=0..1"])[1]
    {'learner.kind': 'ridge', 'seed': '1'}

    Raises InputError for another form, a key that is named twice, and more than `max_runs` combinations.
    """
    values: dict[str, Sequence[Any]] = {}
    for text in sweep:
        key, listed = assigned(text, "key=value,value", "--each")
        if key in values:
            raise InputError(f"--each names '{key}' twice", remedy="give all its values at once")
        span = _RANGE.fullmatch(listed.strip())
        values[key] = range(int(span[1]), int(span[2]) + 1) if span else _values(key, listed)
        if not values[key]:
            raise InputError(f"--each {key}={listed} has no value", remedy="give VALUE,VALUE or FIRST..LAST")
    # The number comes first: a list of all runs might not fit into memory; len() of a range is limited.
    lengths = (v.stop - v.start if isinstance(v, range) else len(v) for v in values.values())
    if (size := math.prod(lengths)) > max_runs:
        remedy = "give fewer values, or a larger --max-runs"
        raise InputError(f"--each makes {size:,} runs, more than {max_runs:,}", remedy=remedy)
    return [dict(zip(values, map(str, point), strict=True)) for point in product(*values.values())]


def _values(key: str, listed: str) -> list[str]:
    parsed = strict_yaml.parse(f"[{listed}]", f"--each {key}")
    return [json.dumps(value, ensure_ascii=False).strip('"') for value in parsed]


def plans_of(
    path: Path,
    sweep: Sequence[str],
    *,
    data_root: Path | None,
    overrides: Sequence[str],
    max_runs: int = MAX_RUNS,
) -> list[tuple[Setting, Plan]]:
    """A checked plan for each combination, named after the experiment and its values."""
    name = load(path, data_root=data_root, overrides=overrides).experiment.name
    plans = []
    for setting in settings_of(sweep, max_runs):
        changes = [f"{key}={value}" for key, value in setting.items()]
        run_name = "-".join([name, *(_word(key, value) for key, value in setting.items())])
        plan = load(path, data_root=data_root, overrides=[*overrides, *changes, f"name={run_name}"])
        plans.append((setting, plan))
    return plans


def _word(key: str, value: str) -> str:
    last = "" if key.endswith((".kind", "features")) else key.rpartition(".")[2]
    return re.sub(r"[^A-Za-z0-9._]+", "_", f"{last}{value}").strip("_")
