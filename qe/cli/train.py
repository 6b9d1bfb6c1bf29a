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
    from qe.cli._summary import print_json, print_outcome
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
    outcomes = []
    for experiment in loaded:
        single = output or Path("output") / experiment.name
        folder = single if len(loaded) == 1 else (output or Path("output")) / experiment.name
        with progress_bar(quiet or as_json) as progress:
            outcome = run(
                experiment,
                folder,
                cache=cache_dir or default_cache(),
                resume=resume,
                overwrite=overwrite,
                progress=progress,
            )
        outcomes.append(outcome)
        if not as_json:
            print_outcome(outcome)
    if as_json:
        print_json(outcomes)
