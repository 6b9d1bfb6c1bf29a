"""A sweep: one experiment with several values of some settings.

It also shows the spread that the seed alone causes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.assignments import assigned
from features.basics.errors import InputError
from features.storage import strict_yaml
from qe.display.numbers import number
from qe.display.table import Column, Table
from qe.statistics.metric import METRICS
from qe.training.check import load
from qe.training.plan import Plan
from qe.training.summary import value_of
from qe.training.train import Outcome

_RANGE: Final = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)")
_MOST: Final = 200  # runs of one sweep
Setting = Mapping[str, str]  # key -> value, as YAML


def settings_of(each: Sequence[str]) -> list[Setting]:
    """All combinations of `KEY=VALUE,VALUE` and `KEY=FIRST..LAST`.

    >>> settings_of(["learner.kind=ridge,lightgbm", "seed=0..1"])[1]
    {'learner.kind': 'ridge', 'seed': '1'}

    Raises InputError for another form, a key that is given twice, and more than 200 combinations.
    """
    values: dict[str, list[str]] = {}
    for text in each:
        key, given = assigned(text, "key=value,value", "--each")
        if key in values:
            raise InputError(f"--each names '{key}' twice", remedy="give all its values at once")
        values[key] = _values(key, given)
    if (size := int(np.prod([len(those) for those in values.values()]))) > _MOST:
        raise InputError(f"--each makes {size} runs, more than {_MOST}", remedy="give fewer values")
    return [dict(zip(values, point, strict=True)) for point in product(*values.values())]


def _values(key: str, given: str) -> list[str]:
    span = _RANGE.fullmatch(given.strip())
    if span:
        first, last = int(span[1]), int(span[2])
        return [str(value) for value in range(first, last + 1)] or _none(key, given)
    listed = strict_yaml.parse(f"[{given}]", f"--each {key}")
    return [json.dumps(value, ensure_ascii=False).strip('"') for value in listed] or _none(key, given)


def _none(key: str, given: str) -> list[str]:
    raise InputError(f"--each {key}={given} has no value", remedy="give VALUE,VALUE or FIRST..LAST")


def plans_of(
    path: Path, each: Sequence[str], *, data_root: Path | None, overrides: Sequence[str]
) -> list[tuple[Setting, Plan]]:
    """A checked plan for each combination, named after the experiment and its values."""
    name = load(path, data_root=data_root, overrides=overrides).experiment.name
    return [(one, _plan(path, one, name, data_root, overrides)) for one in settings_of(each)]


def _plan(path: Path, one: Setting, name: str, data_root: Path | None, overrides: Sequence[str]) -> Plan:
    chosen = [f"{key}={value}" for key, value in one.items()]
    named = "-".join([name, *(_word(key, value) for key, value in one.items())])
    return load(path, data_root=data_root, overrides=[*overrides, *chosen, f"name={named}"])


def _word(key: str, value: str) -> str:
    last = "" if key.endswith((".kind", "features")) else key.rpartition(".")[2]
    return re.sub(r"[^A-Za-z0-9._]+", "_", f"{last}{value}").strip("_")


def spread_table(outcomes: Sequence[tuple[Setting, Outcome]]) -> Table | None:
    """The evaluation metric over seeds, one row per combination of the other settings.

    None without seeds.
    """
    metric = outcomes[0][1].report["experiment"]["evaluation"]["metric"]
    groups: dict[str, list[float]] = {}
    for one, outcome in outcomes:
        other = ", ".join(f"{key}={value}" for key, value in one.items() if not _is_seed(key))
        name = other or outcome.report["experiment"]["name"]
        groups.setdefault(name, []).append(_figure(outcome.report, metric))
    if max(map(len, groups.values())) < 2 or not any(map(_is_seed, outcomes[0][0])):
        return None
    kind = METRICS.get(metric)
    sign = -1 if kind.higher_is_better else 1
    best_first = sorted(groups.items(), key=lambda group: sign * float(np.mean(group[1])))
    rows = [[name, str(len(values)), *_spread(values, kind.digits + 1)] for name, values in best_first]
    columns = [Column(kind.title, "mean"), Column("deviation"), Column("lowest"), Column("highest")]
    columns = [Column("setting"), Column("seeds"), *columns]
    return Table("Spread over seeds, in cross-validation", columns, rows)


def _spread(values: Sequence[float], digits: int) -> list[str]:
    figures = (np.mean(values), np.std(values, ddof=1), min(values), max(values))
    return [number(float(figure), digits) for figure in figures]


def _is_seed(key: str) -> bool:
    return key.rpartition(".")[2] == "seed"


def _figure(report: Mapping[str, Any], metric: str) -> float:
    section = report["nested"] or report["cross_validation"]
    value = value_of(section["systems"][report["experiment"]["name"]], metric)
    return float("nan") if value is None else value
