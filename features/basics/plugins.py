"""Plugins: strategies of other distributions, named `DISTRIBUTION:NAME` (entry points).

A distribution says what it brings in the groups `mtqe.extractor`, `mtqe.learner`, `mtqe.selector` and
`mtqe.metric`. Nothing of it is imported before an experiment, or a model that was trained with it, names it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from features.basics.errors import InputError, unknown_name

if TYPE_CHECKING:  # half of what the first help would load
    from importlib.metadata import Distribution, EntryPoint

SEPARATOR = ":"


def is_foreign(name: object) -> bool:
    """Whether a name is one of another distribution's."""
    return isinstance(name, str) and SEPARATOR in name


def entry_point(noun: str, name: str) -> "EntryPoint":
    """What a distribution brings under a name; nothing of it is imported.

    Raises InputError if it is not installed, brings nothing of that name, or parameters stand in it.
    """
    home, _, own = name.partition(SEPARATOR)
    if "=" in own:
        remedy = f"give the name alone, {home}, and its parameters as `params`, or by --set {own}"
        raise InputError(f"{noun} '{name}' names parameters", remedy=remedy)
    brought = {entry.name: entry for entry in _installed(home).entry_points if entry.group == f"mtqe.{noun}"}
    if own not in brought:
        raise unknown_name(f"{noun} of the distribution '{home}'", own, brought)
    return brought[own]


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Distribution -> installed version, of those that foreign names are of."""
    homes = {name.partition(SEPARATOR)[0] for name in names if is_foreign(name)}
    return {home: _installed(home).version for home in sorted(homes)}


def kinds_in(value: Any) -> Iterator[str]:
    """The kinds that settings name, at any depth."""
    if isinstance(value, Mapping):
        yield from (kind for key, kind in value.items() if key == "kind" and isinstance(kind, str))
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from kinds_in(inner)


def check_versions(recorded: Mapping[str, str], names: Iterable[str], location: object) -> None:
    """Raises InputError unless plugins' distributions are installed in the recorded versions.

    `names` are names of strategies.
    """
    homes = {name.partition(SEPARATOR)[0] for name in names if is_foreign(name)}
    for home in sorted(homes):
        wanted = recorded.get(home)
        if wanted is None:
            raise InputError(f"does not say which version of {home} it needs", location=location)
        found = _installed(home, f"pip install {home}=={wanted}", location).version
        if found != wanted:
            raise InputError(
                f"was trained with {home} {wanted}, but {found} is installed",
                location=location,
                remedy=f"pip install {home}=={wanted}, or train it again",
            )


def _installed(home: str, remedy: str = "", location: object = None) -> "Distribution":
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(home)
    except (PackageNotFoundError, ValueError):  # a name that none can have is a ValueError
        raise InputError(
            f"needs the distribution '{home}', which is not installed",
            location=location,
            remedy=remedy or f"pip install {home or 'it'}",
        ) from None
