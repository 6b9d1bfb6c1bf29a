"""Router: several models, each for the rows of its route."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.files import digest
from qe.data.table_rows import Row
from qe.models.drift import Profile
from qe.scoring.routes import Route, columns_of, fingerprint_of
from qe.scoring.scorer import Batch, Options, Output, Routed, Scorer
from qe.scoring.scoring_model import ScoringModel


@dataclass(frozen=True)
class Destination:
    """A route with the model that it leads to, and what is asked of it."""

    route: Route
    model: ScoringModel
    options: Options


@dataclass(frozen=True)
class Routes:
    """Models by routes, as a file says them; loaded in every process of a job."""

    path: Path
    destinations: Sequence[Destination]

    @property
    def folders(self) -> list[Path]:
        """The folders of the models."""
        return [one.model.folder for one in self.destinations]

    @property
    def identity(self) -> str:
        """A fingerprint of all models and of what leads to them."""
        routes = [one.route for one in self.destinations]
        return fingerprint_of(routes, [one.model.identity for one in self.destinations])

    def load(self) -> "Router":
        """All the models. Raises InputError as `Scorer.load`."""
        loaded: dict[tuple[Path, Options], Scorer] = {}
        for one in self.destinations:
            key = one.model.folder, one.options
            if key not in loaded:
                loaded[key] = Scorer.load(one.model.folder, one.options, identity=one.model.identity)
        return Router(
            self,
            [one.route for one in self.destinations],
            [loaded[one.model.folder, one.options] for one in self.destinations],
        )

    def of(self, identity: str) -> "Routes":
        """Itself: every destination knows the identity of its model."""
        assert identity == self.identity
        return self

    @property
    def told(self) -> "Routes":
        """What a summary says made the scores."""
        return self

    def to_json(self) -> dict[str, Any]:
        """The same as `ScoringModel.to_json`; `routes` has the models."""
        return self._told({one.route.name: one.model.to_json() for one in self.destinations}) | {
            "named": str(self.path)
        }

    def in_table(self) -> Mapping[str, Any]:
        """The same as `ScoringModel.in_table`."""
        return self._told({one.route.name: dict(one.model.in_table()) for one in self.destinations})

    def _told(self, routes: Mapping[str, Any]) -> dict[str, Any]:
        nothing = {"registered": None, "version": None, "signed_by": None}
        return {"name": self.path.name, **nothing, "fingerprint": self.identity, "routes": dict(routes)}


@dataclass(eq=False)
class Router:
    """Scores each row by the model of the first route that takes it.

    A row without a route has a reason.

    scorers  one for each route; routes to the same model share one
    """

    asked: Routes
    routes: Sequence[Route]
    scorers: Sequence[Scorer]
    profile: None = field(default=None, init=False)

    def __post_init__(self) -> None:
        first = self.scorers[0].output_columns
        for route, scorer in zip(self.routes, self.scorers, strict=True):
            if scorer.output_columns != first:
                raise InputError(
                    f"the model of {route.name} gives other columns ({', '.join(scorer.output_columns)}) "
                    f"than that of {self.routes[0].name} ({', '.join(first)})",
                    location=self.asked.path,
                    remedy="score with fewer options, such as without --tokens",
                )

    @property
    def who(self) -> str:
        """What needs the columns, in messages."""
        return f"the routes of {self.asked.path}"

    @property
    def options(self) -> Options:
        """What is asked of the first; all but thresholds and the model's name are asked of all."""
        return self.scorers[0].options

    @property
    def identity(self) -> str:
        """A fingerprint of all models."""
        return self.asked.identity

    @property
    def recipe(self) -> str:
        """The same as `Scorer.recipe`."""
        return digest(self.identity, [scorer.recipe for scorer in self.scorers])

    @property
    def languages(self) -> None:
        """Each model has its own."""
        return None

    @property
    def headers(self) -> Mapping[str, str]:
        """The same as `Scorer.headers`; of several models, the first that knows one."""
        return {name: header for scorer in reversed(self.scorers) for name, header in scorer.headers.items()}

    @property
    def lacking(self) -> Mapping[str, str]:
        """The same as `Scorer.lacking`, of any model."""
        return {kind: reason for scorer in self.scorers for kind, reason in scorer.lacking.items()}

    @property
    def output_columns(self) -> tuple[str, ...]:
        """The same as `Scorer.output_columns`."""
        return self.scorers[0].output_columns

    def profiles(self) -> Mapping[str, Profile | None]:
        """How the training data of each route's model look."""
        return {route.name: one.profile for route, one in zip(self.routes, self.scorers, strict=True)}

    def columns(self) -> tuple[str, ...]:
        """The columns of the routes, and those that any model needs."""
        of_models = (name for scorer in self.scorers for name in scorer.columns())
        return tuple(dict.fromkeys((*of_models, *columns_of(self.routes))))

    def score(self, rows: Sequence[Row], start: int = 0) -> Batch:
        """The same as `Scorer.score`."""
        outputs: list[Output | None] = [None] * len(rows)
        chosen = [self._chosen(columns) for columns, _ in rows]
        routed: dict[str, Routed] = {}
        repeated = 0
        for number, (route, scorer) in enumerate(zip(self.routes, self.scorers, strict=True)):
            at = [i for i, one in enumerate(chosen) if one == number]
            if not at:
                continue
            batch = scorer.score([_with_id(rows[i], start + i + 1) for i in at])
            for i, output in zip(at, batch.rows, strict=True):
                outputs[i] = output
            repeated += batch.repeated
            scored = sum(not output["reason"] for output in batch.rows)
            routed[route.name] = Routed(len(at), scored, batch.counts)
        done = [
            self._without(_with_id(row, start + i + 1)) if output is None else output
            for i, (row, output) in enumerate(zip(rows, outputs, strict=True))
        ]
        return Batch(done, repeated, None, routed=routed)

    def _chosen(self, columns: Mapping[str, Any]) -> int | None:
        return next((number for number, route in enumerate(self.routes) if route.takes(columns)), None)

    def _without(self, row: Row) -> Output:
        columns, reason = row
        why = reason or f"no route for its {' and '.join(columns_of(self.routes))}"
        return {**dict.fromkeys(self.output_columns), "id": str(columns["id"]), "reason": why}


def _with_id(row: Row, number: int) -> Row:
    columns, reason = row
    return ({**columns, "id": str(number)} if columns.get("id") is None else columns), reason
