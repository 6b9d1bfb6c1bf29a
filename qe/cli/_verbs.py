"""The verbs: the files of this folder, each imported only when it is used."""

import ast
import importlib
import pkgutil
from typing import Any

import typer

import qe.cli
from features.basics.errors import unknown_name


def verbs() -> list[str]:
    """The files in qe/cli; a verb's module is imported only when that verb is used."""
    names = (module.name for module in pkgutil.iter_modules(qe.cli.__path__))
    return [name for name in names if not name.startswith("_")]


def purpose(verb: str) -> str:
    """What a verb is for: the first line of its file, which is not imported."""
    source = pkgutil.get_data("qe.cli", f"{verb}.py") or b""
    line = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    return line.removeprefix(f"`qe {verb}`: ").removesuffix(".")


def command(verb: str) -> Any:
    """The Typer application of a verb: its module's `app`, or the function named like the module."""
    if verb not in verbs():
        raise unknown_name("verb", verb, verbs())
    module: Any = importlib.import_module(f"qe.cli.{verb}")
    if hasattr(module, "app"):
        return module.app
    application = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    application.command(name=verb)(getattr(module, verb))
    return application
