"""`qe train`: runs experiments."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import Json, Quiet, progress_bar


def train(
    experiments: Annotated[list[Path], typer.Argument(help="Experiment files (YAML).")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for report, predictions and model; default output/NAME."),
    ] = None,
    data_root: Annotated[
        Path | None, typer.Option(help="Relative paths in the experiment start here, not at its own folder.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a key: --set search.trials=5 (repeatable).")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start anew over an unfinished run.")
    ] = False,
    worker: Annotated[
        bool, typer.Option("--worker", help="Only add trials to the study at search.storage, then stop.")
    ] = False,
    cache_dir: Annotated[
        Path | None, typer.Option(help="Where resources and features are cached; default ~/.cache/qe.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run experiments: features, search, selection, fit, evaluation, tracking.

    Example:

        qe train experiments/wmt12/baseline.yaml --data-root ../shared/data --output output/baseline
    """
    from features.core.errors import InputError
    from qe import experiment as experiment_file
    from qe.batch import train_all
    from qe.cli._summary import print_json, print_outcome
    from qe.leaderboard import text as leaderboard_text
    from qe.resource_cache import default_cache
    from qe.training import contribute
    from qe.training import train as run

    loaded = [experiment_file.load(p, data_root=data_root, overrides=settings or ()) for p in experiments]
    names = [experiment.name for experiment in loaded]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"several experiments are named {sorted(twice)}", remedy="names must differ")
    if worker:
        for experiment in loaded:
            with progress_bar(quiet or as_json) as progress:
                trials = contribute(experiment, cache=cache_dir or default_cache(), progress=progress)
            print(f"{experiment.name}: the study has {trials} trials")
        return
    folder = output or Path("output") / (names[0] if len(names) == 1 else "batch")
    cache = cache_dir or default_cache()
    show = None if as_json else print_outcome
    with progress_bar(quiet or as_json) as progress:
        if len(loaded) == 1:
            outcomes = [
                run(loaded[0], folder, cache=cache, resume=resume, overwrite=overwrite, progress=progress)
            ]
        else:
            outcomes, boards = train_all(
                loaded,
                folder,
                cache=cache,
                resume=resume,
                overwrite=overwrite,
                on_outcome=show,
                progress=progress,
            )
    if as_json:
        print_json(outcomes)
    elif len(loaded) == 1:
        print_outcome(outcomes[0])
    else:
        for board in boards:
            print(leaderboard_text(board))
