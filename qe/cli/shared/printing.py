"""What commands share: printing a result, tracking, groups, the lock of an output folder."""

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from features.basics.errors import NO_MODEL, InputError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qe.display.table import Table
    from qe.scoring.routes import Route


def on_spark(engine: str, master: str | None) -> bool:

    if engine not in ("local", "spark"):
        raise unknown_name("engine", engine, ("local", "spark"), location="--engine")
    if master is not None and engine != "spark":
        raise InputError("--master is Spark's", remedy="add --engine spark")
    return engine == "spark"


def tell_made(command: str, output: object) -> None:
    print(f"qe {command}: {output}: made already by the same command, and left as it is", file=sys.stderr)


def tell_refused(verb: str, refused: Mapping[str, int], table: Path) -> None:
    for reason, rows in refused.items():
        print(f"qe {verb}: {rows:,} rows of {table} cannot be used: {reason}", file=sys.stderr)


def groups(arguments: list[str]) -> dict[str, list[str]] | None:
    """NAME=FILE, or FILE for units named `group`."""
    from features.basics.assignments import named_files
    from features.storage.files import read_lines

    files = named_files(arguments, "--group", lambda path: "group")
    return {name: list(read_lines(path)) for name, path in files.items()} or None


def locked_output(
    output: Path | None, verb: str, inputs: Iterable[Path | None] = ()
) -> AbstractContextManager[None]:
    """The output folder of a verb, if it is given one, kept from others while the verb works."""
    from features.storage.outputs import locked_folder

    if output is None:
        return nullcontext()
    return locked_folder(output, verb, inputs=[path for path in inputs if path is not None])


def emit(name: str, result: object, json: bool, *parts: "Table | str", output: Path | None = None) -> None:
    """One result for machines, as JSON (`qe schema NAME`), or for people, as tables and sentences."""
    if json or output is not None:
        from features.storage.files import atomic_file
        from qe.display import output_schemas
        from qe.display.files import json_text, plain

        text = json_text(output_schemas.stamped(name, plain(result)))
        if output is not None:
            with atomic_file(output) as temporary:
                temporary.write_text(text, "utf-8")
        if json:
            print(text, end="")
            return
    from qe.display.summary import say, show

    for part in parts:
        say(part) if isinstance(part, str) else show(part)


def print_json(name: str, content: Mapping[str, object]) -> None:
    emit(name, content, True)


def track(
    verb: str,
    write: Callable[[Path], object],
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    under: str = "",
) -> None:
    """Logs what `write` leaves in a folder, the settings and the figures as a run in MLflow."""
    from tempfile import TemporaryDirectory

    from qe.tracking import runs

    with TemporaryDirectory() as folder:
        write(Path(folder))
        run = runs.log_report(verb, params=params, metrics=metrics, folder=Path(folder), under=under)
    print(f"MLflow run {run}", file=sys.stderr)


def chosen_routes(model: str | None, models: Path | None) -> "Sequence[Route]":
    """Which rows go to which model, by one of `--model` and `--models`."""
    from qe.scoring.routes import Route, read_routes

    if models is not None and model is not None:
        raise InputError("--model and --models exclude each other", remedy="leave one of them out")
    if models is not None:
        return read_routes(models)
    if model is None:
        raise InputError("no model is given", remedy=f"give --model MODEL, or --models ROUTES; {NO_MODEL}")
    return [Route({}, model)]


def registered(model: str, folder: Path) -> tuple[str, str] | None:
    """Name and version in the registry of a model that was named by it."""
    if not model.startswith("models:/"):
        return None
    from qe.tracking.logged_models import registered_as

    return registered_as(folder)
