"""Finds an extractor, resource, learner, ... by name; imports only the module that defines it."""

import ast
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from features.basics.errors import InputError, unknown_name
from features.basics.plugins import (
    DISTRIBUTION,
    SEPARATOR,
    class_entry,
    entry_point,
    is_foreign,
    is_importable,
    not_installed,
    own_entries,
    package_of,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class _Location(NamedTuple):
    module: str
    attribute: str = ""  # empty: the class that is registered by the name, else the module's one public class


class Catalogue(Generic[T]):
    """The strategies of one kind by name: classes made from `base`.

    A module of `package` (empty: plugins alone) holds one public class, which has the module's name. A
    module that holds several names each with `register`; the package lists them as
    `NAMES = {module: (name, ...)}`. Entry points of this project's plugin packages add names of the group
    `mtqe.GROUP`. With `plugins`, `DISTRIBUTION:NAME` is an entry point of another distribution; `names` lacks
    those. Without a package, `package.module.Class` is a class, too. Modules `_NAME` and subpackages are not.

    >>> from features.core.bundle import RESOURCES
    >>> RESOURCES.get("lexikon")
    Traceback (most recent call last):
    features.basics.errors.InputError: unknown resource 'lexikon'; known: ...
    """

    def __init__(
        self, package: str, base: type, noun: str, *packages: str, plugins: bool = False, group: str = ""
    ) -> None:
        self.packages = tuple(name for name in (package, *packages) if name)
        self.base, self.noun, self._plugins = base, noun, plugins
        self.group = group or noun.replace(" ", "_")
        self._registered: dict[str, type[T]] = {}
        self._listed: tuple[object, dict[str, _Location]] = None, {}

    def register(self, name: str) -> Callable[[type[Any]], type[Any]]:
        """Class decorator that gives a strategy its name, for modules that hold several."""

        def decorate(kind: type[Any]) -> type[Any]:
            kind.registered = name
            self._registered[name] = kind
            return kind

        return decorate

    @property
    def names(self) -> tuple[str, ...]:
        """All known names, sorted; nothing is imported but the package itself."""
        return tuple(sorted(self._locations))

    @property
    def foreign(self) -> list[str]:
        """`DISTRIBUTION:NAME` of entry points of other distributions; nothing of them is imported."""
        from importlib.metadata import entry_points

        if not self._plugins:
            return []
        entries = [
            (entry.dist.name, entry.name) for entry in entry_points(group=f"mtqe.{self.group}") if entry.dist
        ]
        return sorted(f"{home}{SEPARATOR}{name}" for home, name in entries if home != DISTRIBUTION)

    def __contains__(self, name: object) -> bool:
        """Whether there is such an entry; nothing of a distribution is imported."""
        if not (self._plugins and is_foreign(name)):
            return isinstance(name, str) and name in self._locations
        try:
            entry_point(self.noun, self.group, str(name))
        except InputError:
            return False
        return True

    def spelled(self, name: str) -> str:
        """The name as the catalogue writes it, if only its case differs; an unknown name as it is."""
        return {known.casefold(): known for known in self.names}.get(name.casefold(), name)

    def unknown(self, name: object) -> InputError:
        if self._plugins and is_foreign(name):
            try:
                entry_point(self.noun, self.group, str(name))
            except InputError as error:
                return error
        if (entry := own_entries(self.group).get(str(name))) and not is_importable(package_of(entry)):
            return not_installed(self.noun, entry)
        return unknown_name(self.noun, name, self.names)

    @property
    def _locations(self) -> dict[str, _Location]:
        """Name -> where its class is; folders are listed again after a change."""
        packages = [importlib.import_module(package) for package in self.packages]
        paths = [path for package in packages for path in package.__path__]
        state = tuple((path, Path(path).stat().st_mtime_ns) for path in paths if Path(path).is_dir())
        if self._listed[0] != state:
            locations = {
                name: _Location(entry.module, entry.attr)
                for name, entry in own_entries(self.group).items()
                if is_importable(package_of(entry))
            }
            for package in packages:
                listed: dict[str, tuple[str, ...]] = getattr(package, "NAMES", {})
                for module in pkgutil.iter_modules(package.__path__):
                    if not module.ispkg and not module.name.startswith("_"):
                        place = _Location(f"{package.__name__}.{module.name}")
                        locations |= dict.fromkeys(listed.get(module.name, (module.name,)), place)
            self._listed = state, locations
        return self._listed[1]

    def documentation(self, name: str) -> str:
        """Docstring of a class; ours are read from their files, not imported. Raises as `get` does."""
        if is_foreign(name):
            return inspect.getdoc(self.get(name)) or ""
        return inspect.cleandoc(ast.get_docstring(self._statement(name)) or "")

    def purpose(self, name: str) -> str:
        """First sentence about a strategy, from its module, or its class if the module has several names."""
        modules = [place.module for place in self._locations.values()]
        several = is_foreign(name) or modules.count(self._location(name).module) > 1
        several = several or _registers(self._statement(name), name)
        text = self.documentation(name) if several else ast.get_docstring(self._tree(name)) or ""
        paragraph = " ".join(text.partition("\n\n")[0].split())
        return paragraph.partition(". ")[0].removesuffix(".")

    @property
    def classes(self) -> dict[str, str]:
        return {
            self._statement(name).name: name
            for name, place in self._locations.items()
            if place.module.rpartition(".")[0] in self.packages
        }

    def _statement(self, name: str) -> ast.ClassDef:
        attribute = self._location(name).attribute
        public = [
            node for node in self._tree(name).body if isinstance(node, ast.ClassDef) and node.name[0] != "_"
        ]
        named = [node for node in public if node.name == attribute or _registers(node, name)]
        ending = self.base.__name__
        derived = [node for node in public if any(getattr(b, "id", "").endswith(ending) for b in node.bases)]
        return (named or derived or public)[-1]

    def _tree(self, name: str) -> ast.Module:
        spec = importlib.util.find_spec(self._location(name).module)
        return ast.parse(Path(str(spec and spec.origin)).read_bytes())

    def _location(self, name: str) -> _Location:
        locations = self._locations
        if not isinstance(name, str) or name not in locations:  # from a file, it may be anything
            raise self.unknown(name)
        return locations[name]

    def get(self, name: str) -> type[T]:
        """The class of a name; raises InputError for an unknown one, with the known ones and the nearest."""
        if self._plugins and is_foreign(name):
            return self._loaded(name, entry_point(self.noun, self.group, name))
        if not self.packages and "." in str(name):
            return self._loaded(name, class_entry(self.noun, str(name)))
        place = self._location(name)
        module = importlib.import_module(place.module)
        if place.attribute:
            return cast(type[T], getattr(module, place.attribute))
        if name in self._registered:
            return self._registered[name]
        defined = [
            value
            for value in vars(module).values()
            if inspect.isclass(value)
            and issubclass(value, self.base)
            and value.__module__ == module.__name__
            and not value.__name__.startswith("_")
        ]
        if len(defined) != 1:
            raise TypeError(
                f"{module.__name__} must define exactly one public {self.base.__name__}, found {defined}"
            )
        return cast(type[T], defined[0])

    def _loaded(self, name: str, entry: "EntryPoint") -> type[T]:
        try:
            kind = entry.load()
        except Exception as error:
            raise InputError(f"the {self.noun} '{name}' cannot be loaded: {error}") from error
        if inspect.isabstract(kind):
            raise InputError(f"the {self.noun} '{name}' lacks {', '.join(sorted(kind.__abstractmethods__))}")
        if not (inspect.isclass(kind) and issubclass(kind, self.base)):
            raise InputError(f"the {self.noun} '{name}' is no class made from {self.base.__name__}")
        return cast(type[T], kind)


def _registers(node: ast.ClassDef, name: str) -> bool:
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call) and each.args]
    return any(isinstance(arg := call.args[0], ast.Constant) and arg.value == name for call in calls)
