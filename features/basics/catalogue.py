"""Finds an extractor, resource, learner, ... by file name; imports only the file asked for."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Generic, TypeVar, cast

from features.basics.errors import InputError, unknown_name
from features.basics.plugins import entry_point, is_foreign

T = TypeVar("T")


class Catalogue(Generic[T]):
    """The strategies of one or several packages: module name -> class.

    The class is the one public subclass of `base` that the module defines.

    Modules whose name starts with `_` and subpackages are not entries. With `plugins`, `DISTRIBUTION:NAME` is
    what another distribution brings (features.basics.plugins); `names` are our own alone.

    >>> from features.core.bundle import RESOURCES
    >>> RESOURCES.get("lexikon")
    Traceback (most recent call last):
    features.basics.errors.InputError: unknown resource 'lexikon'; known: ...
    """

    def __init__(self, package: str, base: type, noun: str, *more: str, plugins: bool = False) -> None:
        self.packages, self.base, self.noun, self._plugins = (package, *more), base, noun, plugins
        self._listed: tuple[tuple[object, ...], dict[str, str]] = (), {}

    @property
    def names(self) -> tuple[str, ...]:
        """All known names, sorted; nothing is imported but the package itself."""
        return tuple(sorted(self._homes))

    def __contains__(self, name: object) -> bool:
        """Whether there is such an entry; nothing of a distribution is imported."""
        if not (self._plugins and is_foreign(name)):
            return name in self._homes
        try:
            entry_point(self.noun, str(name))
        except InputError:
            return False
        return True

    def unknown(self, name: object) -> InputError:
        """What to say of a name that is not in the catalogue."""
        if self._plugins and is_foreign(name):
            try:
                entry_point(self.noun, str(name))
            except InputError as error:
                return error
        return unknown_name(self.noun, name, self.names)

    @property
    def _homes(self) -> dict[str, str]:
        folders = [(package, list(importlib.import_module(package).__path__)) for package in self.packages]
        state = tuple((path, Path(path).stat().st_mtime_ns) for _, paths in folders for path in paths)
        if self._listed[0] != state:
            homes = {
                module.name: package
                for package, paths in folders
                for module in pkgutil.iter_modules(paths)
                if not module.ispkg and not module.name.startswith("_")
            }
            self._listed = state, homes
        return self._listed[1]

    def documentation(self, name: str) -> str:
        """Docstring of the class that the file `name` defines.

        It is read from the file; nothing is imported.

        Raises InputError as `get` does.
        """
        return ast.get_docstring(self._statement(name)) or ""

    def purpose(self, name: str) -> str:
        """What the file `name` is, by the first line of its docstring; nothing is imported.

        Raises InputError as `get` does.
        """
        text = ast.get_docstring(ast.parse(self._path(name).read_bytes())) or ""
        return text.partition("\n")[0].removesuffix(".")

    @property
    def classes(self) -> dict[str, str]:
        """Name of a class -> the file that defines it, read from the files: nothing is imported."""
        return {self._statement(name).name: name for name in self.names}

    def _statement(self, name: str) -> ast.ClassDef:
        classes = [
            node for node in ast.parse(self._path(name).read_bytes()).body if isinstance(node, ast.ClassDef)
        ]
        public = [node for node in classes if not node.name.startswith("_")]
        own = [node for node in public if any(self._is_base(base) for base in node.bases)]
        return (own or public)[-1]

    def _path(self, name: str) -> Path:
        return Path(importlib.import_module(self._home(name)).__path__[0]) / f"{name}.py"

    def _is_base(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id.endswith(self.base.__name__)

    def _home(self, name: str) -> str:
        homes = self._homes
        if name not in homes:
            raise unknown_name(self.noun, name, self.names)
        return homes[name]

    def get(self, name: str) -> type[T]:
        """The class that the file `name` defines.

        Raises InputError for an unknown name, with the known ones and the nearest.
        """
        if self._plugins and is_foreign(name):
            return self._foreign(name)
        module = importlib.import_module(f"{self._home(name)}.{name}")
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

    def _foreign(self, name: str) -> type[T]:
        found = entry_point(self.noun, name).load()
        if not (inspect.isclass(found) and issubclass(found, self.base)):
            raise InputError(f"the {self.noun} '{name}' is no class made from {self.base.__name__}")
        return cast(type[T], found)
