"""Finds an extractor, resource, learner, ... by its file name; imports only the file asked for."""

import difflib
import importlib
import inspect
import pkgutil
from typing import Generic, TypeVar, cast

from features.core.errors import InputError

T = TypeVar("T")


class Catalogue(Generic[T]):
    """The strategies of one package: module name -> the one public subclass of `base` it defines.

    Modules whose name starts with `_` and subpackages are not entries.

    >>> from features.core.bundle import RESOURCES
    >>> RESOURCES.get("lexikon")
    Traceback (most recent call last):
    features.core.errors.InputError: unknown resource 'lexikon'; known: ...
    """

    def __init__(self, package: str, base: type, noun: str) -> None:
        self.package, self.base, self.noun = package, base, noun

    @property
    def names(self) -> tuple[str, ...]:
        """All known names, sorted; nothing is imported but the package itself."""
        paths = importlib.import_module(self.package).__path__
        found = pkgutil.iter_modules(paths)
        return tuple(sorted(m.name for m in found if not m.ispkg and not m.name.startswith("_")))

    def get(self, name: str) -> type[T]:
        """The class that the file `name` defines.

        Raises InputError for an unknown name, with the known ones and the nearest.
        """
        if name not in self.names:
            near = difflib.get_close_matches(name, self.names, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(f"unknown {self.noun} '{name}'", remedy=f"known: {', '.join(self.names)}{hint}")
        module = importlib.import_module(f"{self.package}.{name}")
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
