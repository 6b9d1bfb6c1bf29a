"""The verbs: the files of this folder, and their groups.

Each file is imported only when it is used.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import qe.cli
from features.basics.errors import unknown_name

# What a person looks for, and the verbs for it: `qe --help` shows them in this order. A new verb joins one.
GROUPS = {
    "start": "demo init train evaluate score report ui",
    "decide": "triage promote select suggest power robustness",
    "MT systems and metrics": "compare rank correlate",
    "corpora and annotation": "filter labels align annotate resources encoders features data cache",
    "production": "serve models distill unsupervised",
    "research": "ablate reproduce effort terrorcat",
    "tools": "learners selectors schema completion",
}


def verbs() -> list[str]:
    """The files in qe/cli; a verb's module is imported only when that verb is used."""
    names = (module.name for module in pkgutil.iter_modules(qe.cli.__path__))
    return [name for name in names if not name.startswith("_")]


def purpose(verb: str) -> str:
    """What a verb is for: the first line of its file, which is not imported."""
    with (Path(qe.cli.__path__[0]) / f"{verb}.py").open(encoding="utf-8") as source:
        line = source.readline()
    return line.strip().removeprefix(f'"""`qe {verb}`: ').removesuffix('"""').removesuffix(".")


def command(verb: str) -> Any:
    """Typer's command for a verb's module.

    It is made of its `app`, or of the function named like the module.
    """
    if verb not in verbs():
        raise unknown_name("verb", verb, verbs())
    from typer.main import get_command

    from qe.cli._application import Application

    module: Any = importlib.import_module(f"qe.cli.{verb}")
    application = getattr(module, "app", None)
    if application is None:
        application = Application()
        application.command(name=verb)(getattr(module, verb, None) or getattr(module, f"{verb}_"))
    return get_command(application)


def commands(verb: str) -> Iterator[tuple[str, Any]]:
    """A verb and the commands below it, by their whole names; a default command has the verb's."""
    root = command(verb)
    inner = getattr(root, "commands", {})
    default = inner.get(root.default) if inner else None
    yield verb, default or root
    yield from ((f"{verb} {name}", one) for name, one in inner.items() if one is not default)
