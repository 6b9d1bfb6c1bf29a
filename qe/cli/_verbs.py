"""The verbs: the files of this folder, those of plugins, and their groups; each is imported when used."""

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import qe.cli
from features.basics.errors import unknown_name
from features.basics.plugins import is_importable

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
    """The files in qe/cli, and the verbs of plugins; a module is imported only when its verb is used."""
    return [*_core_verbs(), *(name for name in _plugin_verbs() if name not in _core_verbs())]


def is_verb(name: str) -> bool:
    return name in _core_verbs() or name in _plugin_verbs()


def groups() -> dict[str, list[str]]:
    """Title -> verbs, as the help lists them; verbs of other distributions come last."""
    known = verbs()
    listed = {title: [verb for verb in members.split() if verb in known] for title, members in GROUPS.items()}
    others = [verb for verb in known if verb not in " ".join(GROUPS.values()).split()]
    return {**listed, **({"plugins": others} if others else {})}


def purpose(verb: str) -> str:
    """What a verb is for: the first line of its file, which is not imported."""
    spec = importlib.util.find_spec(_module(verb))
    with Path(str(spec and spec.origin)).open(encoding="utf-8") as source:
        line = source.readline()
    return line.strip().removeprefix(f'"""`qe {verb}`: ').removesuffix('"""').removesuffix(".")


@cache
def _core_verbs() -> tuple[str, ...]:
    names = (module.name for module in pkgutil.iter_modules(qe.cli.__path__) if not module.ispkg)
    return tuple(name for name in names if not name.startswith("_"))


@cache
def _plugin_verbs() -> dict[str, str]:
    """Verb -> module, from the files of entry points: importlib.metadata would take a third of the help."""
    files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    entries = [entry for file in files for entry in _entries(file.read_text("utf-8", "replace"), "mtqe.verb")]
    return {name: module for name, module in sorted(entries) if is_importable(module.partition(".")[0])}


def _entries(text: str, group: str) -> list[tuple[str, str]]:
    r"""Name and module of each entry point of a group."""
    section = f"\n{text}".partition(f"\n[{group}]\n")[2].partition("\n[")[0]
    return re.findall(r"^\s*([^=#\s]+)\s*=\s*([\w.]+)", section, re.MULTILINE)


def _module(verb: str) -> str:
    return f"qe.cli.{verb}" if verb in _core_verbs() else _plugin_verbs()[verb]


def command(verb: str) -> Any:
    """Typer's command for a verb's module, from its `app` or the function named like the module."""
    if not is_verb(verb):
        raise unknown_name("verb", verb, verbs())
    from typer.main import get_command

    from qe.cli.shared.application import Application

    module: Any = importlib.import_module(_module(verb))
    application = getattr(module, "app", None)
    if application is None:
        application = Application()
        application.command(name=verb)(getattr(module, verb, None) or getattr(module, f"{verb}_"))
    return get_command(application)


def loaded_options(verb: str) -> list[Any]:
    return list(command(verb).params) if is_verb(verb) and _module(verb) in sys.modules else []


def commands(verb: str) -> Iterator[tuple[str, Any]]:
    """A verb and the commands below it, by their whole names; a default command has the verb's."""
    root = command(verb)
    inner = getattr(root, "commands", {})
    default = inner.get(root.default) if inner else None
    yield verb, default or root
    yield from ((f"{verb} {name}", one) for name, one in inner.items() if one is not default)
