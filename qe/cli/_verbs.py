"""The verbs of the files of this folder and of plugins, and their groups; a file is imported when used."""

import importlib
import re
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from features.basics.errors import InputError, unknown_name

if TYPE_CHECKING:
    from qe.cli.shared.application import Application
    from qe.cli.shared.commands import Command

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
_PURPOSE = re.compile(r'^(?:""")?`qe ([\w-]+)`: (.*?)\.?(?:""")?$', re.MULTILINE)


def verbs() -> list[str]:
    """The verbs of the core, which its modules name in their docstrings, and those of plugins."""
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
    """What a verb is for, as the docstring of its module says, not imported; empty if it is silent."""
    if verb in _core_verbs():
        return _core_verbs()[verb][1]
    with suppress(Exception):  # in a package of others
        spec = find_spec(_plugin_verbs()[verb])
        return _purposes(Path(str(spec and spec.origin)))[verb]
    return ""


@cache
def _core_verbs() -> dict[str, tuple[str, str]]:
    """Verb -> module and purpose."""
    return {
        verb: (f"qe.cli.{path.stem}", text)
        for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
        for verb, text in _purposes(path).items()
    }


def _purposes(path: Path) -> dict[str, str]:
    r"""Verb -> purpose, from the lines of a module's docstring that begin with \`qe VERB\`."""
    return dict(_PURPOSE.findall(path.read_text("utf-8").partition('"""\n')[0]))


@cache
def _plugin_verbs() -> dict[str, str]:
    """Verb -> module, from the files of entry points: importlib.metadata would take a third of the help."""
    files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    entries: list[tuple[str, str]] = []
    for file in files:
        text = "\n" + file.read_text("utf-8", "replace")
        section = text.partition("\n[mtqe.verb]\n")[2].partition("\n[")[0]
        entries += re.findall(r"^\s*([^=#\s]+)\s*=\s*([\w.]+)", section, re.MULTILINE)
    return {name: module for name, module in sorted(entries) if find_spec(module.partition(".")[0])}


def module_of(verb: str) -> str:
    return _core_verbs()[verb][0] if verb in _core_verbs() else _plugin_verbs()[verb]


def application(verb: str) -> "Application":
    """The application of a verb, or one of the function with its name; `app` is that of its module."""
    if not is_verb(verb):
        raise unknown_name("verb", verb, verbs())
    from qe.cli.shared.application import Application

    try:
        module = importlib.import_module(module_of(verb))
        found = getattr(module, "app", None) or getattr(module, f"{verb}_", None) or getattr(module, verb)
    except Exception as error:
        if verb in _core_verbs():
            raise
        raise InputError(f"the verb '{verb}' cannot be loaded: {error}") from error
    return found if isinstance(found, Application) else Application(functions={verb: found})


def commands(verb: str) -> dict[str, "Command"]:
    """The commands of a verb by their whole names; a default command has the verb's."""
    return {one.path: one for one in application(verb).commands(verb).values()}
