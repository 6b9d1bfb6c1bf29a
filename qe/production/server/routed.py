"""RoutedService: several models behind one address, each for the rows of its route."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from qe.models.drift import Counts
from qe.models.versions import versions
from qe.production.server.extras import Extras
from qe.production.server.limits import Limits
from qe.production.server.parsing import Parsed
from qe.production.server.service import Service
from qe.scoring.routes import Route, columns_of, fingerprint_of


@dataclass(frozen=True, eq=False)
class RoutedService(Service):
    """Scores each row by the service of the first route that takes it.

    A row without a route has a reason.
    """

    routes: Sequence[Route] = ()
    services: Sequence[Service] = ()

    @classmethod
    def from_routes(
        cls, name: str, routes: Sequence[Route], services: Sequence[Service], limits: Limits
    ) -> Self:
        """The services of routes, one each; `name` is that of all together."""
        first = services[0]
        needed = (column for service in services for column in service.about["columns"])
        about = {
            "model": name,
            "fingerprint": fingerprint_of(routes, [service.about["fingerprint"] for service in services]),
            "features": "",
            "columns": list(dict.fromkeys((*needed, *columns_of(routes)))),
            "versions": versions(),
            "registered": "",
            "routes": {route.name: one.about for route, one in zip(routes, services, strict=True)},
        }
        return cls(
            first.scorer, limits, about, defaults=first.defaults, bounds=first.bounds, routes=routes,
            services=services,
        )  # fmt: skip

    def _check(self, extras: Extras) -> None:
        for service in self.services:
            service._check(extras)

    def _scored(
        self, parsed: Parsed, extras: Extras, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[list[dict[str, Any]], Counts | None]:
        named = parsed.needed(columns_of(self.routes))
        chosen = [
            next((i for i, route in enumerate(self.routes) if route.takes(row)), None) for row, _ in named
        ]
        why = f"no route for its {' and '.join(columns_of(self.routes))}"
        answers: list[dict[str, Any]] = [{"score": None, "reason": reason or why} for _, reason in named]
        for number, service in enumerate(self.services):
            at = [i for i, one in enumerate(chosen) if one == number]
            if at:
                part = replace(parsed, rows=[parsed.rows[i] for i in at])
                scored, _ = service._scored(part, extras, stopped)
                for i, row in zip(at, scored, strict=True):
                    answers[i] = row
        names = dict.fromkeys(name for answer in answers for name in answer)
        return [{name: answer.get(name) for name in names} for answer in answers], None
