"""A batch of experiments under one parent run: shared resources and caches, one leaderboard."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.basics.assignments import assigned
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.storage import strict_yaml
from features.storage.outputs import locked_folder
from qe.display.numbers import number
from qe.display.table import Column, Table
from qe.evaluation import board_of_pairs, leaderboard
from qe.evaluation.board_of_pairs import BoardOfPairs
from qe.evaluation.leaderboard import Leaderboard
from qe.statistics.metric import METRICS
from qe.training import tracked
from qe.training.check import load
from qe.training.plan import Plan
from qe.training.run_state import STATE
from qe.training.summary import value_of
from qe.training.train import Outcome, train

Board = Leaderboard | BoardOfPairs


def train_all(
    plans: Sequence[Plan],
    output: Path,
    *,
    cache: Path,
    resume: bool = False,
    overwrite: bool = False,
    workers: int = 1,
    on_outcome: Callable[[Outcome], None] | None = None,
    progress: Progress = silent,
) -> tuple[list[Outcome], list[Board]]:
    """Runs the experiments in turn into `output/NAME`, then ranks them, by dataset and over several datasets.

    `workers` processes search for each. With `resume`, experiments that have a report are trained again only
    if they changed.
    """
    with locked_folder(output, "train", earlier_files=(f"*/{STATE}",)):
        outcomes: list[Outcome] = []
        with tracked.batch([plan.experiment for plan in plans]) as run:
            for plan in plans:
                outcome = train(
                    plan,
                    output / plan.experiment.name,
                    cache=cache,
                    resume=resume,
                    overwrite=overwrite,
                    workers=workers,
                    parent=run.id or None,
                    progress=progress,
                )
                outcomes.append(outcome)
                if on_outcome:
                    on_outcome(outcome)
            boards: list[Board] = []
            for number, group in enumerate(_by_data(outcomes)):
                if len(group) > 1:
                    board = leaderboard.make([outcome.output for outcome in group])
                    folder = output if number == 0 else output / f"leaderboard-{number + 1}"
                    for path in leaderboard.write(board, folder):
                        run.artifact(path, None if number == 0 else folder.name)
                    boards.append(board)
            if len(_by_data(outcomes)) > 1:
                pairs = board_of_pairs.make([outcome.output for outcome in outcomes])
                for path in board_of_pairs.write(pairs, output):
                    run.artifact(path, None)
                boards.append(pairs)
        return outcomes, boards


def _by_data(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        data = outcome.report["data"]
        groups.setdefault(repr((data["name"], data["label"])), []).append(outcome)
    return list(groups.values())


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
    # The number comes first: a list of all runs might not fit into memory.
    if (size := math.prod(map(_length, values.values()))) > max_runs:
        remedy = "give fewer values, or a larger --max-runs"
        raise InputError(f"--each makes {size:,} runs, more than {max_runs:,}", remedy=remedy)
    return [dict(zip(values, map(str, point), strict=True)) for point in product(*values.values())]


def _length(values: Sequence[Any]) -> int:
    return values.stop - values.start if isinstance(values, range) else len(values)  # len() is limited


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


def spread_table(outcomes: Sequence[tuple[Setting, Outcome]]) -> Table | None:
    """The evaluation metric over seeds, one row per combination of the other settings; None without seeds."""
    metric = outcomes[0][1].report["experiment"]["evaluation"]["metric"]
    groups: dict[str, list[float]] = {}
    for setting, outcome in outcomes:
        others = ", ".join(f"{key}={value}" for key, value in setting.items() if not _is_seed(key))
        name = others or outcome.report["experiment"]["name"]
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
