"""A batch of experiments under one parent run: shared resources and caches, one leaderboard."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.progress import Progress, silent
from features.storage.outputs import locked_folder
from qe.display.numbers import number
from qe.display.table import Column, Table
from qe.evaluation import leaderboard
from qe.evaluation.leaderboard import BoardOfPairs, Leaderboard
from qe.statistics.metric import METRICS
from qe.training import tracked
from qe.training.check import Setting
from qe.training.plan import Plan
from qe.training.run_state import STATE
from qe.training.summary import value_of
from qe.training.train import Outcome, train

Board = Leaderboard | BoardOfPairs
Report = Mapping[str, Any]


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
    """Runs the experiments in turn into `output/NAME`, then ranks them, by dataset and over several."""
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
                pairs = leaderboard.board_of_pairs([outcome.output for outcome in outcomes])
                for path in leaderboard.write_board_of_pairs(pairs, output):
                    run.artifact(path, None)
                boards.append(pairs)
            names = [plan.experiment.run_name for plan in plans]
            tracked.log_batch(run, _best_first(outcomes, names))
        return outcomes, boards


def _by_data(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        data = outcome.report["data"]
        groups.setdefault(repr((data["name"], data["label"])), []).append(outcome)
    return list(groups.values())


def _best_first(outcomes: Sequence[Outcome], names: Sequence[str]) -> list[list[tuple[str, str, Report]]]:
    titles = {outcome.run_id: name for outcome, name in zip(outcomes, names, strict=True)}
    groups: list[list[tuple[str, str, Report]]] = []
    for group in _by_data([outcome for outcome in outcomes if outcome.run_id]):
        sign = (
            -1 if METRICS.get(group[0].report["experiment"]["evaluation"]["metric"]).higher_is_better else 1
        )
        ranked = sorted(group, key=lambda outcome: sign * _figure(outcome.report))
        groups.append([(each.run_id, titles[each.run_id], each.report) for each in ranked])
    return groups


def spread_table(outcomes: Sequence[tuple[Setting, Outcome]]) -> Table | None:
    """The evaluation metric over seeds, one row per combination of the other settings; None without seeds."""
    metric = outcomes[0][1].report["experiment"]["evaluation"]["metric"]
    groups: dict[str, list[float]] = {}
    for setting, outcome in outcomes:
        others = ", ".join(f"{key}={value}" for key, value in setting.items() if not _is_seed(key))
        name = others or outcome.report["experiment"]["name"]
        groups.setdefault(name, []).append(_figure(outcome.report))
    if max(map(len, groups.values())) < 2 or not any(map(_is_seed, outcomes[0][0])):
        return None
    kind = METRICS.get(metric)
    sign = -1 if kind.higher_is_better else 1
    best_first = sorted(groups.items(), key=lambda group: sign * float(np.mean(group[1])))
    rows = []
    for name, values in best_first:
        figures = (np.mean(values), np.std(values, ddof=1), min(values), max(values))
        texts = (number(float(figure), kind.digits + 1) for figure in figures)
        rows.append([name, str(len(values)), *texts])
    columns = [Column(kind.title, "mean"), Column("deviation"), Column("lowest"), Column("highest")]
    columns = [Column("setting"), Column("seeds"), *columns]
    return Table("Spread over seeds, in cross-validation", columns, rows)


def _is_seed(key: str) -> bool:
    return key.rpartition(".")[2] == "seed"


def _figure(report: Report) -> float:
    metric = report["experiment"]["evaluation"]["metric"]
    section = report["nested"] or report["cross_validation"]
    value = value_of(section["systems"][report["experiment"]["name"]], metric)
    return float("nan") if value is None else value
