"""The option --track: a report and its files become a run in MLflow."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def track(
    verb: str,
    write: Callable[[Path], object],
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    under: str = "",
) -> None:
    """Log what `write` leaves in a folder, the settings and the figures.

    It says on stderr in which run.

    under  the folder of the run's artifacts; default: the verb
    """
    from qe.tracking import runs

    with TemporaryDirectory() as folder:
        write(Path(folder))
        run = runs.log_report(verb, params=params, metrics=metrics, folder=Path(folder), under=under)
    print(f"MLflow run {run}", file=sys.stderr)
