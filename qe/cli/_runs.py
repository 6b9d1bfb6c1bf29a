"""`qe compare RUN RUN`: runs of `qe train` against the first of them."""

from pathlib import Path

import typer

from qe.cli.shared.printing import emit, locked_output

_FOR_RUNS = {"runs", "samples", "seed", "output", "json", "latex", "csv", "quiet", "threads", "overwrite"}


def check_options(ctx: typer.Context) -> None:
    """Raises InputError for an option that applies to MT systems only."""
    from features.basics.errors import InputError

    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        if source is not None and source.name == "COMMANDLINE" and option.name not in _FOR_RUNS:
            raise InputError(
                f"{option.opts[0]} is for MT systems",
                remedy="leave it out: runs have their own metrics and segments",
            )


def compare_runs(folders: list[Path], samples: int | None, seed: int, form: str, output: Path | None) -> None:
    """Print figures, differences and p-values of runs; write them to a folder, if given.

    Out-of-fold predictions on the training segments are compared.
    """
    from features.basics.errors import InputError
    from qe.evaluation import board_of_pairs, leaderboard
    from qe.evaluation.tables import differences

    remedy = "qe compare RUN RUN, with --json if wanted"
    if form not in ("", "json"):
        raise InputError(f"the comparison of runs has no --{form}", remedy=remedy)
    if len(folders) < 2:
        count = f"runs are compared two or more at a time, but {len(folders)} is given"
        raise InputError(count, remedy=remedy)
    if missing := [folder for folder in folders if not (folder / "report.json").is_file()]:
        raise InputError(
            "holds no finished run of `qe train` (no report.json)",
            location=missing[0],
            remedy="outputs of MT systems are given as --system NAME=FILE, predictions to `qe evaluate`",
        )
    with locked_output(output, "compare", folders):
        if not leaderboard.are_of_one_data_set(folders):
            pairs = board_of_pairs.make(folders, samples=samples, seed=seed)
            if output is not None:
                board_of_pairs.write(pairs, output)
            emit("compare-data-sets", pairs, bool(form), pairs.summary())
            return
        board = leaderboard.make(folders, baseline=folders[0], samples=samples, seed=seed)
        if output is not None:
            leaderboard.write(board, output)
    emit("evaluate", board.report, bool(form), leaderboard.table(board), *differences(board.report))
