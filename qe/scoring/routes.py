"""Routes: columns of a row, such as language pair and domain, choose the model that scores it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage import strict_yaml
from features.storage.files import digest, sha256
from qe.data.table_rows import Row
from qe.models import description
from qe.models.drift import Profile
from qe.scoring.row_formats import Needs
from qe.scoring.scorer import Batch, Options, Output, Scorer, Tally

_FORM = "a list of routes, such as `- {pair: en-de, domain: legal, model: models:/legal@champion}`"


@dataclass(frozen=True)
class Route:
    """Rows whose columns have these values are scored by the model; without values: all rows."""

    values: Mapping[str, str]
    model: str

    @property
    def name(self) -> str:
        """Its values, as summaries name it: `pair=en-de, domain=legal`."""
        return ", ".join(f"{column}={value}" for column, value in self.values.items()) or "all others"

    def takes(self, columns: Mapping[str, Any]) -> bool:
        return all(
            columns.get(column) is not None and str(columns[column]) == value
            for column, value in self.values.items()
        )


def read_routes(path: Path) -> list[Route]:
    """The routes of a YAML file, in whose folder relative paths start; the first that fits counts."""
    content = strict_yaml.read(path, "file of routes")
    if not isinstance(content, list) or not content:
        raise InputError("holds no routes", location=path, remedy=f"write {_FORM}")
    routes = []
    for number, entry in enumerate(content, 1):
        location = f"{path}: route {number}"
        if not isinstance(entry, dict) or "model" not in entry:
            raise InputError("is no mapping with a model", location=location, remedy=f"write {_FORM}")
        for key, value in entry.items():
            if not isinstance(key, str) or not isinstance(value, str) or not value:
                problem = f"{key} must be text, but is {value!r}"
                raise InputError(problem, location=location, remedy="write it in quotes")
        model = entry.pop("model")
        routes.append(Route(entry, model if is_uri(model) else str(path.parent / model)))
    for number, route in enumerate(routes):
        wider = (one for one in routes[:number] if one.values.items() <= route.values.items())
        before = next(wider, None)
        if before is not None:
            raise InputError(
                f"no row takes route {number + 1} ({route.name}): route {routes.index(before) + 1} "
                f"({before.name}) takes its rows",
                location=path,
                remedy="put the narrower route first",
            )
    return routes


def is_uri(model: str) -> bool:
    return "://" in model or model.startswith(("models:/", "runs:/"))


def columns_of(routes: Sequence[Route]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column for route in routes for column in route.values))


def fingerprint_of(routes: Sequence[Route], identities: Sequence[str]) -> str:
    return digest(
        [(sorted(one.values.items()), identity) for one, identity in zip(routes, identities, strict=True)]
    )


@dataclass(frozen=True)
class ScoringModel:
    """A model that is known before a job begins.

    identity   its fingerprint: SHA-256 of its model.json, which holds those of all its files
    version    (name, version) in the registry, if it was named by it
    signed_by  the public key that the model was verified with
    """

    user_name: str
    folder: Path
    identity: str
    version: tuple[str, str] | None = None
    signed_by: Path | None = None

    @cached_property
    def name(self) -> str:
        return description.read_unverified(self.folder).name

    @property
    def label(self) -> str:
        """Value of the column `model`: name, version in the registry, first digits of the fingerprint."""
        return f"{'/'.join(self.version or (self.name,))} {self.identity[:12]}"

    def to_json(self) -> dict[str, Any]:
        registered, version = self.version or (None, None)
        return {
            "named": self.user_name,
            "name": self.name,
            "registered": registered,
            "version": version,
            "fingerprint": self.identity,
            "signed_by": None if self.signed_by is None else sha256(self.signed_by),
        }

    def in_table(self) -> Mapping[str, Any]:
        """Metadata for a table: without the user's name, so that equal jobs give equal bytes."""
        return {name: value for name, value in self.to_json().items() if name != "named"}


@dataclass(frozen=True)
class Destination:
    """A model with its options: of all rows, or of those that a route takes."""

    route: Route
    model: ScoringModel
    options: Options

    @property
    def folders(self) -> list[Path]:
        return [self.model.folder]

    def load(self) -> Scorer:
        return Scorer.load(self.model.folder, self.options, identity=self.model.identity or None)


@dataclass(frozen=True)
class Routes:
    path: Path
    destinations: Sequence[Destination]

    @property
    def folders(self) -> list[Path]:
        return [one.model.folder for one in self.destinations]

    @property
    def identity(self) -> str:
        routes = [one.route for one in self.destinations]
        return fingerprint_of(routes, [one.model.identity for one in self.destinations])

    def load(self) -> "Router":
        loaded: dict[tuple[Path, Options], Scorer] = {}
        for one in self.destinations:
            if (key := (one.model.folder, one.options)) not in loaded:
                loaded[key] = one.load()
        return Router(
            self,
            [one.route for one in self.destinations],
            [loaded[one.model.folder, one.options] for one in self.destinations],
        )

    def to_json(self) -> dict[str, Any]:
        models = {one.route.name: one.model.to_json() for one in self.destinations}
        return {**self._metadata(models), "named": str(self.path)}

    def in_table(self) -> Mapping[str, Any]:
        return self._metadata({one.route.name: dict(one.model.in_table()) for one in self.destinations})

    def _metadata(self, routes: Mapping[str, Any]) -> dict[str, Any]:
        nothing = {"registered": None, "version": None, "signed_by": None}
        return {"name": self.path.name, **nothing, "fingerprint": self.identity, "routes": dict(routes)}


@dataclass(eq=False)
class Router:
    """Scores each row by the model of the first route that takes it; a row without a route has a reason."""

    source: Routes
    routes: Sequence[Route]
    scorers: Sequence[Scorer]
    profile: None = field(default=None, init=False)
    languages = None

    def __post_init__(self) -> None:
        first = self.scorers[0].output_columns
        for route, scorer in zip(self.routes, self.scorers, strict=True):
            if scorer.output_columns != first:
                raise InputError(
                    f"the model of {route.name} gives other columns ({', '.join(scorer.output_columns)}) "
                    f"than that of {self.routes[0].name} ({', '.join(first)})",
                    location=self.source.path,
                    remedy="score with fewer options, such as without --tokens",
                )

    @property
    def options(self) -> Options:
        """Options of the first model; the others differ in thresholds and the model's name only."""
        return self.scorers[0].options

    @property
    def identity(self) -> str:
        return self.source.identity

    @property
    def recipe(self) -> str:
        return digest(self.identity, [scorer.recipe for scorer in self.scorers])

    @property
    def lacking(self) -> Mapping[str, str]:
        return {kind: reason for scorer in self.scorers for kind, reason in scorer.lacking.items()}

    @property
    def output_columns(self) -> tuple[str, ...]:
        return self.scorers[0].output_columns

    def profiles(self) -> Mapping[str, Profile | None]:
        return {route.name: one.profile for route, one in zip(self.routes, self.scorers, strict=True)}

    @property
    def needs(self) -> Needs:
        parts = [scorer.needs for scorer in self.scorers]
        return Needs.joined(parts, f"the routes of {self.source.path}", columns_of(self.routes))

    def score(self, rows: Sequence[Row], start: int = 0) -> Batch:
        named: list[Row] = []
        for number, (columns, reason) in enumerate(rows, start + 1):
            has_id = columns.get("id") is not None
            named.append((columns if has_id else {**columns, "id": str(number)}, reason))
        no_route = f"no route for its {' and '.join(columns_of(self.routes))}"
        nothing = dict.fromkeys(self.output_columns)
        outputs: list[Output] = [
            {**nothing, "id": str(columns["id"]), "reason": reason or no_route} for columns, reason in named
        ]
        free, routed = list(range(len(rows))), {}
        for route, scorer in zip(self.routes, self.scorers, strict=True):
            places = [i for i in free if route.takes(named[i][0])]
            free = sorted({*free}.difference(places))
            if places:
                scored = scorer.score([named[i] for i in places])
                routed[route.name] = scored.tally
                for i, output in zip(places, scored.rows, strict=True):
                    outputs[i] = output
        repeated = sum(tally.repeated for tally in routed.values())
        return Batch(outputs, Tally.from_rows(outputs, repeated, routed=routed))
