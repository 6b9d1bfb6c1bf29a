"""What commands share: results in every format, tracking, and messages."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from features.basics.errors import NO_MODEL, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qe.scoring.routes import Route

FORMS = ("json", "markdown", "latex", "csv")


class Verbatim(str):
    """Text that is printed as it is, not wrapped."""


@dataclass
class Result:
    """What a command found: for machines, as JSON (`qe schema NAME`), and for people.

    name     of the schema
    content  a mapping or a dataclass, or a function that makes it
    parts    tables and sentences
    code     the exit code
    brief    whether --quiet leaves the parts out
    file     also gets the JSON
    write    writes the files of a report to a folder: the output, and what --track logs
    recipe   parameters of the tracked run; figures: its metrics; under: the folder of its files
    forms    text for other formats, such as `latex`
    """

    name: str
    content: Any
    parts: Iterable[Any] = ()
    code: int = 0
    brief: bool = False
    file: Path | None = None
    write: Callable[[Path], object] | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)
    figures: Callable[[], Mapping[str, float]] = dict
    under: str = ""
    forms: Mapping[str, Callable[[], str]] = field(default_factory=dict)


def chosen_form(values: Mapping[str, Any]) -> str:
    """The format that options choose, empty for people; raises InputError for two."""
    known = [name for name in FORMS if name in values]
    chosen = [name for name in known if values[name]]
    if len(chosen) > 1:
        *others, last = [f"--{name}" for name in known]
        raise InputError(f"only one of {', '.join(others)} and {last} can be printed")
    return chosen[0] if chosen else ""


def emit(result: Result, verb: str, options: Mapping[str, Any]) -> int:
    """Track and print a result as options say; its exit code."""
    form = chosen_form(options)
    if options.get("track") and result.write is not None:
        from tempfile import TemporaryDirectory

        from qe.tracking import runs

        with TemporaryDirectory() as name:
            folder = Path(name)
            result.write(folder)
            run = runs.log_report(
                verb, params=result.recipe, metrics=result.figures(), folder=folder, under=result.under
            )
        print(f"MLflow run {run}", file=sys.stderr)
    if form == "json" or result.file is not None:
        from features.storage.files import atomic_file
        from qe.display import output_schemas
        from qe.display.files import json_text, plain

        content = result.content() if callable(result.content) else result.content
        text = json_text(output_schemas.stamped(result.name, plain(content)))
        if result.file is not None:
            with atomic_file(result.file) as temporary:
                temporary.write_text(text, "utf-8")
    if form in result.forms:
        print(result.forms[form](), end="")
    elif form == "json":
        print(text, end="")
    elif not (result.brief and options.get("quiet")):
        show_parts(result.parts)
    return result.code


def show_parts(parts: Iterable[Any]) -> None:
    """Print tables and sentences for people."""
    from qe.display.summary import say, show

    for part in parts:
        if isinstance(part, Verbatim):
            print(part)
        else:
            say(part) if isinstance(part, str) else show(part)


def tell_made(command: str, output: object) -> None:
    print(f"qe {command}: {output}: made already by the same command, and left as it is", file=sys.stderr)


def tell_refused(verb: str, refused: Mapping[str, int], table: Path) -> None:
    for reason, rows in refused.items():
        print(f"qe {verb}: {rows:,} rows of {table} cannot be used: {reason}", file=sys.stderr)


def groups(arguments: list[str] | None) -> dict[str, list[str]] | None:
    """NAME=FILE, or FILE for units named `group`."""
    from features.basics.assignments import named_files
    from features.storage.files import read_lines

    files = named_files(arguments or (), "--group", lambda path: "group")
    units = {name: list(read_lines(path)) for name, path in files.items()}
    for name, lines in units.items():
        if "" in lines:
            location = f"{files[name]}, line {lines.index('') + 1}"
            raise InputError("names no group", location=location, remedy="give each segment a group")
    return units or None


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
