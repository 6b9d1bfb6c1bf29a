"""Routes: columns of a row choose the model that scores it.

Such columns are its language pair and domain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage import strict_yaml
from features.storage.files import digest

_FORM = "a list of routes, such as `- {pair: en-de, domain: legal, model: models:/legal@champion}`"


@dataclass(frozen=True)
class Route:
    """Rows whose columns have these values are scored by the model; without any: all rows."""

    when: Mapping[str, str]
    model: str

    @property
    def name(self) -> str:
        """Its values, as summaries name it.

        >>> Route({"pair": "en-de", "domain": "legal"}, "output/legal/model").name
        'pair=en-de, domain=legal'
        """
        return ", ".join(f"{column}={value}" for column, value in self.when.items()) or "all others"

    def takes(self, columns: Mapping[str, Any]) -> bool:
        """Whether a row is one of its own."""
        return all(
            columns.get(column) is not None and str(columns[column]) == value
            for column, value in self.when.items()
        )

    def covers(self, other: "Route") -> bool:
        """Whether it takes all rows that the other takes."""
        return self.when.items() <= other.when.items()


def read_routes(path: Path) -> list[Route]:
    """The routes of a YAML file; a row takes the first that takes it.

    A model that is named by a relative path lies there from the file's folder on. Raises InputError for a
    file of another form, and for a route that no row can take.
    """
    content = strict_yaml.read(path, "file of routes")
    if not isinstance(content, list) or not content:
        raise InputError("holds no routes", location=path, remedy=f"write {_FORM}")
    routes = [
        _route(entry, f"{path}: route {number}", path.parent) for number, entry in enumerate(content, 1)
    ]
    for number, route in enumerate(routes):
        before = next((one for one in routes[:number] if one.covers(route)), None)
        if before is not None:
            raise InputError(
                f"no row takes route {number + 1} ({route.name}): route {routes.index(before) + 1} "
                f"({before.name}) takes its rows",
                location=path,
                remedy="put the narrower route first",
            )
    return routes


def columns_of(routes: Sequence[Route]) -> tuple[str, ...]:
    """The columns that routes ask, in order."""
    return tuple(dict.fromkeys(column for route in routes for column in route.when))


def fingerprint_of(routes: Sequence[Route], identities: Sequence[str]) -> str:
    """A fingerprint of routes and of the models that they lead to."""
    return digest([(sorted(one.when.items()), own) for one, own in zip(routes, identities, strict=True)])


def _route(entry: Any, location: str, folder: Path) -> Route:
    if not isinstance(entry, dict) or "model" not in entry:
        raise InputError("is no mapping with a model", location=location, remedy=f"write {_FORM}")
    for key, value in entry.items():
        if not isinstance(key, str) or not isinstance(value, str) or not value:
            raise InputError(
                f"{key} must be text, but is {value!r}", location=location, remedy="write it in quotes"
            )
    model = entry["model"]
    is_address = "://" in model or model.startswith(("models:/", "runs:/"))
    return Route(
        {key: value for key, value in entry.items() if key != "model"},
        model if is_address else str(folder / model),
    )
