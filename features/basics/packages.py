"""This project's own distribution: version, extras, and the message for a missing extra."""

import importlib.metadata
import re
from collections.abc import Iterable

from features.basics.errors import InputError

DISTRIBUTION = "mtqe"


def version() -> str:
    return importlib.metadata.version(DISTRIBUTION)


def versions(*packages: str) -> dict[str, str]:
    """Package -> installed version; packages that are not installed are left out."""
    installed = {}
    for package in packages:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def installed() -> dict[str, str]:
    found = ((each.metadata["Name"], each.version) for each in importlib.metadata.distributions())
    return dict(sorted((name, version) for name, version in found if name))


def install(extra: str) -> str:
    """The command that installs an extra, such as `pip install 'mtqe[spark]'`.

    >>> install("spark")
    "pip install 'mtqe[spark]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def missing(module: str) -> InputError:
    """The error for a module that cannot be imported: which extra brings it."""
    package = module.partition(".")[0]
    extra = extra_with(package, importlib.metadata.requires(DISTRIBUTION) or ())
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
