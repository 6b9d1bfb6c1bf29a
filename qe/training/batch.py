"""A batch of experiments under one parent run: shared resources and caches, one leaderboard."""

from collections.abc import Callable, Sequence
from pathlib import Path

from features.basics.progress import Progress, silent
from features.storage.outputs import locked_folder
from qe.evaluation import board_of_pairs, leaderboard
from qe.evaluation.board_of_pairs import BoardOfPairs
from qe.evaluation.leaderboard import Leaderboard
from qe.training import tracked
from qe.training.plan import Plan
from qe.training.run_state import STATE
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
    """Runs the experiments in turn into `output/NAME`, then ranks them.

    Runs on the same dataset are ranked, and so are systems that ran on several datasets.

    `workers` processes search for each. With `resume`, experiments whose report is there already are trained
    again only where they changed.
    """
    with locked_folder(output, "train", earlier_files=(f"*/{STATE}",)):
        return _trained(plans, output, cache, resume, overwrite, workers, on_outcome, progress)


def _trained(
    plans: Sequence[Plan],
    output: Path,
    cache: Path,
    resume: bool,
    overwrite: bool,
    workers: int,
    on_outcome: Callable[[Outcome], None] | None,
    progress: Progress,
) -> tuple[list[Outcome], list[Board]]:
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
