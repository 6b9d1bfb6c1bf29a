"""The doors of packages: public names, imported when they are used, that explain themselves."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.factories import refuses
from tests.shown import ROOT
from tests.test_architecture import MODULES, PLUGINS, module_name

DOORS = sorted(
    module_name(path)
    for package in ("features", "qe", "plugins")
    for path in (ROOT / package).rglob("__init__.py")
    if "exports import" in path.read_text("utf-8")
)
NAMES = [(package, name) for package in DOORS for name in importlib.import_module(package).__all__]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_a_public_name_is_there_and_says_what_it_is(package: str, name: str) -> None:
    module: Any = importlib.import_module(package)
    value = getattr(module, name)
    assert value.__name__ == name
    assert value.__module__.startswith(("qe.", "features.", *(f"{plugin}." for plugin in PLUGINS)))
    assert f"{package}.{name}" not in MODULES, "a module of this name would hide it"
    own = value.__module__.startswith(f"{package}.") or package == "qe"
    assert own, f"{value.__module__} lies in another room"
    first = (value.__doc__ or "").partition("\n")[0]
    assert first and not first.startswith(f"{name}("), first
    assert name in dir(module)


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_parameters_are_documented_in_numpys_style(package: str, name: str) -> None:
    """No parameter stands in a list of two columns; a section names only parameters that there are."""
    value = getattr(importlib.import_module(package), name)
    try:
        known = {*inspect.signature(value).parameters, *getattr(value, "__annotations__", ())}
    except ValueError:
        return
    text = inspect.getdoc(value) or ""
    assert not known & {*re.findall(r"^(\w+)  +\S", text, re.MULTILINE)}
    for section in re.findall(r"^(?:Parameters|Attributes)\n-+\n((?:.+\n?)+)", text, re.MULTILINE):
        named = re.findall(r"^(\w[\w, ]*) : ", section, re.MULTILINE)
        assert named and {*", ".join(named).split(", ")} <= known | {*dir(value)}


def test_a_wrong_name_is_told_with_the_nearest() -> None:
    with pytest.raises(
        AttributeError, match="'qe.statistics' has no attribute 'DeltaAvgg'; did you mean 'DeltaAvg'"
    ):
        importlib.import_module("qe.statistics").DeltaAvgg  # noqa: B018
    refuses("cannot import name 'delta'", exec, "from qe.statistics import delta", error=ImportError)


@pytest.mark.parametrize("package", DOORS)
def test_a_door_is_no_list_twice_and_loads_nothing(package: str) -> None:
    path = Path(str(importlib.import_module(package).__file__))
    ifs = (node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.If))
    (block,) = (node for node in ifs if "TYPE_CHECKING" in ast.unparse(node.test))
    names = [alias.asname for node in block.body for alias in node.names if isinstance(node, ast.ImportFrom)]
    assert None not in names and len(names) == len(set(names))
    script = f"import sys, {package}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not {*done.stdout.split()} & {"numpy", "pandas", "scipy", "sklearn", "typer", "rich"}
