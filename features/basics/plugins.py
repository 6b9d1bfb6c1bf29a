"""This project's distribution and extras, and plugins: packages found by entry points."""

import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from features.basics.errors import InputError, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


SEPARATOR = ":"
DISTRIBUTION = "mtqe"


def is_foreign(name: object) -> bool:
    return isinstance(name, str) and SEPARATOR in name


@cache
def own_entries(group: str) -> Mapping[str, "EntryPoint"]:
    """Name -> entry point in `mtqe.GROUP` of this project's plugin packages, installed or removed."""
    if not group:
        return {}
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        entries = distribution(DISTRIBUTION).entry_points
    except PackageNotFoundError:  # the packages are on the path, but nothing was installed
        return {}
    return {entry.name: entry for entry in entries if entry.group == f"mtqe.{group}"}


@cache
def is_importable(package: str) -> bool:
    """Whether Python finds a package; it is not imported."""
    return importlib.util.find_spec(package) is not None


def package_of(entry: "EntryPoint") -> str:
    return entry.module.partition(".")[0]


def not_installed(noun: str, entry: "EntryPoint") -> InputError:
    return InputError(
        f"the {noun} '{entry.name}' is part of the package {package_of(entry)}, which is not installed",
        remedy=f"pip install --force-reinstall {DISTRIBUTION}",
    )


def load_own(group: str, name: str) -> Any:
    """The entry `name` of a plugin package in `mtqe.GROUP`; raises InputError if it is not installed."""
    entry = own_entries(group).get(name)
    if entry is None:
        raise unknown_name(group, name, own_entries(group))
    if not is_importable(package_of(entry)):
        raise not_installed(group, entry)
    return entry.load()


def entry_point(noun: str, group: str, name: str) -> "EntryPoint":
    """The entry point `DISTRIBUTION:NAME`, not imported; raises InputError if there is none."""
    home, _, own = name.partition(SEPARATOR)
    if "=" in own:
        remedy = f"give the name alone, {home}, and its parameters as `params`, or by --set {own}"
        raise InputError(f"{noun} '{name}' names parameters", remedy=remedy)
    entries = {entry.name: entry for entry in _installed(home).entry_points if entry.group == f"mtqe.{group}"}
    if own not in entries:
        raise unknown_name(f"{noun} of the distribution '{home}'", own, entries)
    return entries[own]


def class_entry(noun: str, path: str) -> "EntryPoint":
    # Not imported yet. Nothing of the standard library: some of its modules act when imported.
    from importlib.metadata import EntryPoint

    module, _, name = path.rpartition(".")
    parts = module.split(".")
    if not all(map(str.isidentifier, parts)) or parts[0] in sys.stdlib_module_names:
        raise InputError(f"{noun} '{path}' is neither DISTRIBUTION:NAME nor package.module.Class")
    return EntryPoint(path, f"{module}:{name}", noun)


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Distribution -> installed version, of those that foreign names belong to."""
    homes = {name.partition(SEPARATOR)[0] for name in names if is_foreign(name)}
    return {home: _installed(home).version for home in sorted(homes)}


def kinds_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (kind for key, kind in value.items() if key == "kind" and isinstance(kind, str))
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from kinds_in(inner)


def check_versions(recorded: Mapping[str, str], names: Iterable[str], location: object) -> None:
    """Raises InputError unless distributions of strategies' names are installed in the recorded versions."""
    homes = {name.partition(SEPARATOR)[0] for name in names if is_foreign(name)}
    for home in sorted(homes):
        wanted = recorded.get(home)
        if wanted is None:
            raise InputError(f"does not name the version of {home} that it needs", location=location)
        found = _installed(home, f"pip install {home}=={wanted}", location).version
        if found != wanted:
            problem = f"was trained with {home} {wanted}, but {found} is installed"
            remedy = f"pip install {home}=={wanted}, or train it again"
            raise InputError(problem, location=location, remedy=remedy)


def _installed(home: str, remedy: str = "", location: object = None) -> "Distribution":
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(home)
    except (PackageNotFoundError, ValueError):  # a name that none can have is a ValueError
        problem = f"needs the distribution '{home}', which is not installed"
        remedy = remedy or f"pip install {home or 'it'}"
        raise InputError(problem, location=location, remedy=remedy) from None


def version() -> str:
    from importlib import metadata

    return metadata.version(DISTRIBUTION)


def versions(*packages: str) -> dict[str, str]:
    """Package -> installed version; packages that are not installed are left out."""
    from importlib import metadata

    installed = {}
    for package in packages:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return installed


def installed() -> dict[str, str]:
    from importlib.metadata import distributions

    found = ((each.metadata["Name"], each.version) for each in distributions())
    return dict(sorted((name, version) for name, version in found if name))


def install(extra: str) -> str:
    """The command that installs an extra, such as `pip install 'mtqe[spark]'`.

    >>> install("spark")
    "pip install 'mtqe[spark]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def missing(module: str) -> InputError:
    """The error for a module that cannot be imported: which extra brings it."""
    from importlib.metadata import requires

    package = module.partition(".")[0]
    extra = extra_with(package, requires(DISTRIBUTION) or ())
    remedy = f"pip install {package}" if extra is None else install(extra)
    return InputError(f"this needs the package {package}, which is not installed", remedy=remedy)


def extra_with(package: str, requirements: Iterable[str]) -> str | None:
    """The first extra that a package belongs to; None if no extra has it.

    >>> extra_with("pyspark", ["numpy>=2", 'pyspark<4.3; extra == "spark"'])
    'spark'
    """
    for requirement in requirements:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"""extra == ["']([\w-]+)["']""", requirement)
        if name and extra and name.group().lower().replace("-", "_") == package.lower().replace("-", "_"):
            return extra.group(1)
    return None
