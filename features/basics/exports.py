"""The public names of a package: each is imported when it is used."""

import importlib
import importlib.util
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from features.basics.errors import did_you_mean

if TYPE_CHECKING:
    from features.basics.catalogue import Catalogue


def exports(package: str, *families: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, which has `__all__` by them.

    Public names are those that its `__init__.py` imports below `if TYPE_CHECKING:`, and the classes of the
    catalogues `families`, such as "qe.statistics.metric.METRICS".
    """

    @cache
    def homes() -> dict[str, str]:
        import ast  # only when a name is used, because `import qe` should be fast

        spec = importlib.util.find_spec(package)
        source = getattr(spec.loader, "get_source", lambda name: "")(package) if spec else ""
        imported: dict[str, str] = {}
        for node in ast.parse(source or "").body:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                for statement in node.body:
                    if isinstance(statement, ast.ImportFrom) and statement.module:
                        imported |= dict.fromkeys([alias.name for alias in statement.names], statement.module)
        return imported

    @cache
    def members() -> "dict[str, tuple[Catalogue[Any], str]]":
        catalogues = [
            getattr(importlib.import_module(f.rpartition(".")[0]), f.rpartition(".")[2]) for f in families
        ]
        return {name: (one, file) for one in catalogues for name, file in one.classes.items()}

    def names() -> list[str]:
        return sorted({*homes(), *members()})

    def get(name: str) -> Any:
        if name == "__all__":
            return names()
        if name in homes():
            return getattr(importlib.import_module(homes()[name]), name)
        # A submodule is asked for by this way, too: families are not read for it.
        if name[:1].isupper() and name in members():
            catalogue, file = members()[name]
            return catalogue.get(file)
        near = did_you_mean(name, names()) if name[:1].isupper() else ""
        raise AttributeError(f"module {package!r} has no attribute {name!r}{near}")

    return get, names
