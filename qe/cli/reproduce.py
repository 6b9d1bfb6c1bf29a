"""`qe reproduce`: train a finished run again, show which figures differ."""

from pathlib import Path

from qe.cli.shared.printing import emit


def reproduce(
    run: str,
    output: Path | None = None,
    overrides: list[str] | None = None,
    cache_dir: Path | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Train a finished run again from the settings in its report, and show which figures differ.

    Also shows differences of data, features, resources and versions. The new run is not tracked. Exit code 0
    if all figures are equal, 1 if some differ.

    Example:

        qe reproduce output/demo

        qe reproduce output/demo --set dataset.path=/data/moved

    arguments:
      run RUN  Output folder of `qe train`, or the id of a run in MLflow.

    output:
      -o, --output DIR  Folder of the new run. (default: it is not kept)
    """
    import sys
    from tempfile import TemporaryDirectory

    from qe.cli.shared.progress import progress_bar
    from qe.resources.cache import default_cache
    from qe.training.reproduction import reproduce as train_again

    cache = cache_dir or default_cache()
    with TemporaryDirectory(prefix="qe-") as scratch, progress_bar(quiet or json) as progress:
        folder = output or Path(scratch) / "run"
        found = train_again(run, folder, cache=cache, overrides=overrides or (), progress=progress)
    lines = [f"all {found.figures} figures are the same", *found.notes]
    shown = [found.table()] if found.differences or found.recipe_differences else lines
    emit("reproduce", found, json, *shown)
    sys.exit(0 if found.identical else 1)
