"""Messages name options that there are: those of the verb at hand, or of a command that is quoted."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from features.basics.errors import options_in
from qe.cli._verbs import commands, module_of, verbs
from tests.shown import ROOT
from tests.test_architecture import module_name

pytestmark = pytest.mark.slow
PACKAGES = [ROOT / name for name in ("qe", "features", "plugins")]
# Options of other programs, and old names that still work.
FOREIGN = {"verify", "force-reinstall", "version", "to_json", "by", "held-out", "known"}


def options_of(verb: str) -> set[str]:
    """The options of all commands of a verb."""
    known = [one for command in commands(verb).values() for one in command.options]
    names = {name.lstrip("-") for one in known for name in (*one.names, *one.opposites)}
    return names | {"help"}


OPTIONS = {verb: options_of(verb) for verb in verbs()}
ANY = set().union(*OPTIONS.values()) | FOREIGN


@cache
def messages(path: Path) -> tuple[str, ...]:
    """The strings of a module but for its docstrings; what is put into an f-string is left out."""
    return tuple(_strings(path))


def _strings(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in docs | parts:
            yield str(node.value)


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]


def test_every_option_that_a_message_names_is_one_of_a_verb() -> None:
    strange = {
        (path.relative_to(ROOT).as_posix(), option)
        for path in modules()
        for text in messages(path)
        for option in options_in(text) - ANY
        if "X" not in option
    }
    assert not strange


def test_commands_that_a_message_quotes_have_its_options() -> None:
    quoted = [
        (path.relative_to(ROOT).as_posix(), command)
        for path in modules()
        for text in messages(path)
        for command in re.findall(r"(?:`|^)qe ([a-z][^`]*)", text)
    ]
    assert len(quoted) > 20
    wrong = [(path, c) for path, c in quoted if options_in(c) - OPTIONS.get(c.split()[0], set())]
    assert not wrong


@pytest.mark.parametrize("module", sorted({module_of(verb) for verb in verbs()}))
def test_a_module_of_verbs_names_their_options(module: str) -> None:
    (path,) = (path for path in modules() if module_name(path) == module)
    named = {option for text in messages(path) for option in options_in(text) if text[:3] != "qe "}
    known = [OPTIONS[verb] for verb in verbs() if module_of(verb) == module]
    assert named <= FOREIGN.union(*known)
