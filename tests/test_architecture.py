"""The direction of the arrows: read from the imports, so that it cannot drift unnoticed."""

import ast
import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent

# The only files that may import mlflow: the tracker with its user interface, and the models-from-code file
# that MLflow itself runs.
TRACKER = ("connection", "logged_models", "registry", "runs", "ui")
MLFLOW = {*(f"qe.tracking.{name}" for name in TRACKER), "qe.production.pyfunc_model"}
# Every room, the lowest first: a module imports from its own room and from rooms before it. The extractors
# lie in `features` itself; docs/architecture.md says what each room is for.
ROOMS = (
    "features.basics",
    "features.storage",
    "features.text",
    "features.syntax",
    "features.edits",
    "features.core",
    "features.resources",
    "features.decoder_output",
    "features.comparisons",
    "features.word_level",
    "features.encoding",
    "features.learned",
    "features.knowledge",
    "features",
    "qe.display",
    "qe.config",
    "qe.statistics",
    "qe.language",
    "qe.data",
    "qe.resources",
    "qe.tracking",
    "qe.learning",
    "qe.evaluation",
    "qe.models",
    "qe_human",
    "qe.scoring",
    "qe.training",
    "qe.systems",
    "qe.production",
    "qe.getting_started",
    "qe.reports",
    "qe.api",
    "qe.cli",
    "qe",
)
# Packages next to the core, found by entry points alone: neither the core nor another plugin imports them.
PLUGINS = ("qe_human", "qe_papers", "qe_treebanks")
# Front doors: they show what lies in other rooms, and load it when it is asked for.
DOORS = {"features", "qe", *PLUGINS}
# Formats that run code when they are read.
UNSAFE = {"pickle", "cloudpickle", "dill", "shelve", "marshal"}


@dataclass(frozen=True)
class Import:
    """One imported module (`name` empty) or one name imported from a module."""

    importer: str
    module: str
    name: str
    line: int

    def __str__(self) -> str:
        what = f"{self.name} from {self.module}" if self.name else self.module
        return f"{self.importer}:{self.line} imports {what}"


def module_name(path: Path, root: Path = ROOT) -> str:
    inside_plugins = path.is_relative_to(root / "plugins")
    parts = path.relative_to(root / "plugins" if inside_plugins else root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, importer: str, is_package: bool = False) -> list[Import]:
    """All imports of a module, relative ones resolved, also those inside functions."""
    collected = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            collected += [Import(importer, alias.name, "", node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = importer.split(".") if is_package else importer.split(".")[:-1]
            base = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join([*base, node.module] if node.module else base)
            collected += [Import(importer, module, alias.name, node.lineno) for alias in node.names]
    return sorted(collected, key=lambda one: one.line)


FILES = sorted(path for package in ("features", "qe", "plugins") for path in (ROOT / package).rglob("*.py"))
MODULES = {module_name(path) for path in FILES}
PACKAGES = {module_name(path) for path in FILES if path.name == "__init__.py"}


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [
        each
        for path in FILES
        for each in imports_of(path.read_text("utf-8"), module_name(path), path.name == "__init__.py")
    ]


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def target(given: Import) -> str:
    """The module that an import loads: `from package import module` loads the module."""
    whole = f"{given.module}.{given.name}"
    return whole if whole in MODULES else given.module


def listed(violations: list[Import]) -> str:
    return "\n" + "\n".join(map(str, violations))


def test_features_never_imports_qe(imports: list[Import]) -> None:
    wrong = [i for i in imports if inside(i.importer, "features") and inside(i.module, "qe")]
    assert not wrong, listed(wrong)


def test_no_package_imports_a_plugin_but_itself(imports: list[Import]) -> None:
    wrong = [i for i in imports if imports_another_plugin(i)]
    assert not wrong, listed(wrong)


def imports_another_plugin(given: Import) -> bool:
    imported = given.module.split(".")[0]
    return imported in PLUGINS and imported != given.importer.split(".")[0]


def test_features_knows_neither_tracking_nor_search(imports: list[Import]) -> None:
    wrong = [
        i
        for i in imports
        if inside(i.importer, "features") and i.module.split(".")[0] in ("mlflow", "optuna")
    ]
    assert not wrong, listed(wrong)


def test_mlflow_is_imported_where_it_is_agreed_and_nowhere_else(imports: list[Import]) -> None:
    wrong = [i for i in imports if inside(i.module, "mlflow") and i.importer not in MLFLOW]
    assert not wrong, listed(wrong)


def test_arrows_between_rooms_run_downward(imports: list[Import]) -> None:
    wrong = [i for i in imports if runs_up(i)]
    assert not wrong, listed(wrong)


def test_every_room_has_its_place() -> None:
    assert {room(module) for module in MODULES} == {*ROOMS, *PLUGINS}
    assert len(set(ROOMS)) == len(ROOMS)


def code_lines(text: str) -> int:
    """Lines that hold code: without docstrings, comments and blank lines."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            first = node.body[0]
            documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    used = {n for t in tokens if t.type not in NO_CODE for n in range(t.start[0], t.end[0] + 1)}
    return len(used - documented)


NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def test_no_package_is_larger_than_its_ceiling() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    ceilings: dict[str, int] = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE):
        for folder, ceiling in re.findall(r"^\| `([*.\w]+)/?` \|.*\| ([\d,]+) \|$", section, re.MULTILINE):
            top = section.partition("`")[2].partition("/")[0]
            name = {"plugins": folder}.get(top, top if folder == "*.py" else f"{top}.{folder}")
            ceilings[name] = int(ceiling.replace(",", ""))
    sizes = dict.fromkeys({*ROOMS, *PLUGINS} - {"qe"}, 0)
    for path in FILES:
        if room(module_name(path)) in sizes:
            sizes[room(module_name(path))] += code_lines(path.read_text("utf-8"))
    assert ceilings.keys() == sizes.keys()
    assert {name: size for name, size in sizes.items() if size > ceilings[name]} == {}


def test_code_lines_are_counted_without_prose() -> None:
    assert code_lines('"""Text."""\n\n# comment\nx = (\n    1\n)\n') == 3


def test_the_page_lists_the_rooms_in_their_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## `plugins/`")[0]
    listed_there = re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)
    folders = [room.partition(".")[2] for room in ROOMS if "." in room]
    assert [name for name in listed_there if name != "sets"] == folders


def room(module: str) -> str:
    """The folder that a module lies in; `qe` and `features` are rooms themselves."""
    parts = module.split(".")
    inner = ".".join(parts[:2])
    return inner if inner in PACKAGES and parts[0] not in PLUGINS else parts[0]


def runs_up(given: Import) -> bool:
    importer, imported = room(given.importer), target(given)
    if not any(inside(imported, package) for package in ("features", "qe")) or given.importer in DOORS:
        return False
    if room(given.importer) in PLUGINS:
        return False
    return ROOMS.index(room(imported)) > ROOMS.index(importer)


def test_things_come_from_the_file_that_defines_them(imports: list[Import]) -> None:
    """Not from the `__init__` of a package that the importing module itself is in."""
    wrong = [i for i in imports if takes_from_own_package(i)]
    assert not wrong, listed(wrong)


def takes_from_own_package(given: Import) -> bool:
    own = given.module in PACKAGES and given.importer.startswith(given.module + ".")
    return own and bool(given.name) and f"{given.module}.{given.name}" not in MODULES


def test_no_star_imports_and_no_formats_that_run_code(imports: list[Import]) -> None:
    wrong = [i for i in imports if i.name == "*" or i.module.split(".")[0] in UNSAFE]
    assert not wrong, listed(wrong)


def test_modules_with_an_underscore_are_imported_in_their_own_folder_alone(imports: list[Import]) -> None:
    wrong = [i for i in imports if is_private_elsewhere(i)]
    assert not wrong, listed(wrong)


def is_private_elsewhere(given: Import) -> bool:
    """Whether a module or folder with a leading underscore is imported from outside the folder it lies in."""
    parts = target(given).split(".")
    folders = [".".join(parts[:i]) for i, part in enumerate(parts) if part.startswith("_")]
    known = parts[0] in (*ROOMS, *PLUGINS)
    return known and any(not inside(given.importer, folder) for folder in folders)


def test_no_module_imports_itself_in_a_circle(imports: list[Import]) -> None:
    """Neither when it is loaded nor later, inside a function."""
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for each in imports:
        if target(each) in MODULES and each.importer not in PACKAGES:
            graph[each.importer].add(target(each))
    circle = circle_in(graph)
    assert not circle, " imports ".join(circle)


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """One circle, its first module repeated at the end; empty if there is none."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_everything_is_read() -> None:
    assert {"features.core.extractor", "features", "qe.data.dataset", "qe.learning.learner"} <= MODULES
    assert {"features.core", "qe", "qe.statistics.metrics"} <= PACKAGES


def test_the_reader_of_imports_sees_all_kinds() -> None:
    source = (
        "import a.b, c as d\n"
        "from e import f as g, h\n"
        "from . import i\n"
        "from ..j import k\n"
        "if TYPE_CHECKING:\n    import l\n"
        "class M:\n    import m\n"
        "def n():\n    if x:\n        from o import p\n"
    )
    collected = [(i.module, i.name, i.line) for i in imports_of(source, "qe.cli.verb")]
    assert collected == [
        ("a.b", "", 1), ("c", "", 1), ("e", "f", 2), ("e", "h", 2), ("qe.cli", "i", 3), ("qe.j", "k", 4),
        ("l", "", 6), ("m", "", 8), ("o", "p", 11),
    ]  # fmt: skip
    assert imports_of("from . import i", "qe.cli", is_package=True)[0].module == "qe.cli"


def test_the_rules_catch_what_they_forbid() -> None:
    (own,) = imports_of("from features.core import Segments", "features.core.bundle")
    (file,) = imports_of("from features.core import bundle", "features.text.corpus")
    (outside,) = imports_of("from features import Segments", "qe.data.dataset")
    (up,) = imports_of("def f():\n    from qe.training import search", "qe.models.model")
    (down,) = imports_of("from features.core import bundle", "qe.models.model")
    assert [runs_up(i) for i in (up, down)] == [True, False]
    assert [takes_from_own_package(i) for i in (own, file, outside)] == [True, False, False]
    (near,) = imports_of("def f():\n    from qe.cli import _verbs", "qe.cli.train")
    (far,) = imports_of("from qe.learning.learners._m5p import M5P", "qe.models.model")
    (future,) = imports_of("from __future__ import annotations", "qe.models.model")
    assert [is_private_elsewhere(i) for i in (near, far, future)] == [False, True, False]
    (plugin,) = imports_of("def f():\n    from qe_papers import learners", "qe.training.train")
    (itself,) = imports_of("from qe_papers.learners import pls", "qe_papers.selectors.cfs")
    assert [imports_another_plugin(i) for i in (plugin, itself)] == [True, False]
    assert circle_in({"a": {"b"}, "b": {"a"}, "c": set()}) in (["a", "b", "a"], ["b", "a", "b"])
    assert circle_in({"a": {"b"}, "b": set()}) == []
    assert target(file) == "features.core.bundle" and target(own) == "features.core"
