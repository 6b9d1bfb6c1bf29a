"""`qe reproduce`: train a finished run anew, tell which figures differ."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import print_json
from qe.cli._options import CacheDir, Json, Overrides, Quiet, output_option


def reproduce(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Output folder of qe train, or the id of a run in MLflow.")
    ],
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Folder of the new run; default: none is kept.")
    ] = None,
    settings: Overrides = None,
    cache_dir: CacheDir = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a finished run anew by what its report says, and tell which figures differ.

    Differences of data, features, resources and versions are told, too. The new run is not tracked. Exit
    code 0 if all figures are the same, 1 if some differ.

    Example:

        qe reproduce output/demo

        qe reproduce output/demo --set dataset.path=/data/moved
    """
    import sys
    from tempfile import TemporaryDirectory

    from qe.cli._progress import progress_bar
    from qe.display.terminal import show
    from qe.resources.cache import default_cache
    from qe.training.reproduction import reproduce as anew

    cache = cache_dir or default_cache()
    with TemporaryDirectory(prefix="qe-") as scratch, progress_bar(quiet or as_json) as progress:
        folder = output or Path(scratch) / "run"
        found = anew(run, folder, cache=cache, overrides=settings or (), progress=progress)
    if as_json:
        print_json("reproduce", found.to_json())
    elif found.differences or found.recipe_differences:
        show(found.table())
    else:
        print("\n".join([f"all {found.figures} figures are the same", *found.notes]))
    sys.exit(0 if found.identical else 1)
