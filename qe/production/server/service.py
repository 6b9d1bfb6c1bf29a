"""Loaded models, one or several behind routes, and their answers to the bodies of requests."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from features.basics.errors import InputError
from qe.display.files import render
from qe.models.description import versions
from qe.models.drift import Counts, Profile
from qe.models.training_rows import HeldOutPredictions
from qe.production.server import protocol
from qe.production.server.monitoring import Recent, bounds
from qe.production.triage import Thresholds
from qe.scoring.routes import Route, columns_of, fingerprint_of
from qe.scoring.scorer import Options, Scorer, Tally

DRIFT_ROWS = 10_000
_BLOCK, _EXPLAINED = 500, 25  # rows that are scored, and explained, before a request can be given up
_ANY_LEVEL = 0.9  # to find out at loading whether the model has intervals


@dataclass(frozen=True, eq=False)
class Service:
    """Scores the rows of requests, in several threads at a time.

    lacks       extra -> why the model cannot give it
    thresholds  of triage; None: requests for actions are refused
    about       the content of /version
    bounds      upper bounds of a histogram of scores
    """

    scorer: Scorer
    limits: protocol.Limits
    about: Mapping[str, Any]
    lacks: Mapping[str, str] = field(default_factory=dict)
    thresholds: Thresholds | None = None
    defaults: protocol.Extras = field(default_factory=protocol.Extras)
    bounds: Sequence[float] = ()
    recent: Recent | None = None

    @classmethod
    def load(
        cls, folder: Path, limits: protocol.Limits, *, identity: str | None = None,
        level: float | None = None, triage: Path | None = None, registered: tuple[str, str] | None = None,
        drift_rows: int = DRIFT_ROWS, missing_columns: str = "error",
    ) -> Self:  # fmt: skip
        """The model of a folder, with intervals of `level` and drift of the last `drift_rows` segments."""
        # No cache: threads share the scorer.
        served = Options(interval=level, drift=False, cache=0, missing_columns=missing_columns)
        scorer = plain = Scorer.load(folder, served, identity=identity)
        model, scale, lacks = plain.model, plain.model.scale, {}
        for extra, options in (
            ("interval", Options(interval=level or _ANY_LEVEL, drift=False)),
            ("explain", Options(explain=1, drift=False)),
        ):
            try:
                loaded = Scorer.load(folder, options, model)
            except InputError as error:
                lacks[extra] = error.problem
                continue
            intervals, explainer = loaded.intervals or scorer.intervals, loaded.explainer or scorer.explainer
            scorer = replace(scorer, intervals=intervals, explainer=explainer)
        thresholds = None if triage is None else Thresholds.read(triage, scale)
        if set(plain.columns()) == {"source", "target"}:  # other columns have forms of their own
            plain.score([({"source": "a", "target": "a"}, "")])  # loads and compiles what is loaded on use
        recent = None
        if drift_rows and Profile.exists(folder):
            profile = Profile.load(folder)
            scorer, recent = replace(scorer, profile=profile), Recent(profile, drift_rows)
        about = {
            "model": model.name,
            "fingerprint": model.identity,
            "features": model.feature_set.fingerprint,
            "columns": list(plain.columns()),
            "versions": versions(),
            "registered": "" if registered is None else "/".join(registered),
        }
        known = (
            HeldOutPredictions.load(folder).predicted if HeldOutPredictions.exists(folder) else np.array([])
        )
        score_bounds = bounds(scale.low, scale.high, known)
        return cls(
            scorer, limits, about, lacks, thresholds, protocol.Extras(interval=level), score_bounds, recent
        )

    def answer(
        self, body: bytes, kind: protocol.Kind, query: bytes, stopped: Callable[[], bool] = lambda: False
    ) -> protocol.Answer:
        """The answer to a body. Raises Refused if there is none, or if `stopped` becomes true meanwhile."""
        try:
            parsed = protocol.parse(body, kind, self.limits)
            extras = protocol.requested_extras(query, parsed.params, self.defaults)
            self._check(extras)
            rows, counts = self._scored(parsed, extras, stopped)
        except InputError as error:
            raise protocol.Refused(422, str(error)) from None
        except RecursionError:
            raise protocol.Refused(422, "a value is nested too deeply") from None
        return protocol.Answer(
            200, protocol.json_bytes({"predictions": rows}), predictions=rows, counts=counts
        )

    @cached_property
    def description(self) -> protocol.Answer:
        return protocol.json_answer(protocol.openapi_document(self.about, self.limits))

    @cached_property
    def page(self) -> protocol.Answer:
        """The description as HTML, all of it escaped; no script, and nothing from another address."""
        document = protocol.openapi_document(self.about, self.limits)
        html = render("qe.production.server", "page.html", {}, api=document, policy=protocol.POLICY)
        headers = {"Content-Security-Policy": protocol.POLICY}
        return protocol.Answer(200, html.encode(), "text/html; charset=utf-8", headers)

    def _check(self, extras: protocol.Extras) -> None:
        if extras.interval is not None and "interval" in self.lacks:
            raise protocol.Refused(422, self.lacks["interval"])
        if extras.explain and "explain" in self.lacks:
            raise protocol.Refused(422, self.lacks["explain"])
        if extras.triage and self.thresholds is None:
            raise protocol.Refused(422, "this server has no thresholds of triage; start it with --triage")

    def _scored(
        self, parsed: protocol.Parsed, extras: protocol.Extras, stopped: Callable[[], bool]
    ) -> tuple[list[dict[str, Any]], Counts | None]:
        options = replace(
            self.scorer.options,
            interval=extras.interval,
            explain=extras.explain,
            outside=self.scorer.model.guard is not None,
            triage=self.thresholds if extras.triage else None,
        )
        names = [name for name in options.columns if name != "id"]
        # Intervals may need columns of their own, which only requests with intervals must have.
        intervals = None if extras.interval is None else self.scorer.intervals
        explainer = self.scorer.explainer if extras.explain else None
        scorer = replace(self.scorer, options=options, intervals=intervals, explainer=explainer)
        needed = parsed.needed(scorer.columns(), scorer.table_columns)
        size = _EXPLAINED if extras.explain else _BLOCK
        answers, tally = list[dict[str, Any]](), Tally()
        for start in range(0, len(needed), size):
            if stopped():
                raise protocol.Refused(503, "the request was given up")
            scored = scorer.score(needed[start : start + size])
            answers += [{name: _plain(row[name]) for name in names} for row in scored.rows]
            tally += scored.tally
        return answers, tally.counts


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, eq=False)
class RoutedService(Service):
    """Scores each row by the service of the first route that takes it; a row without a route has a reason."""

    routes: Sequence[Route] = ()
    services: Sequence[Service] = ()

    @classmethod
    def from_routes(
        cls, name: str, routes: Sequence[Route], services: Sequence[Service], limits: protocol.Limits
    ) -> Self:
        first, abouts = services[0], [service.about for service in services]
        columns = [*(column for about in abouts for column in about["columns"]), *columns_of(routes)]
        about = {
            "model": name,
            "fingerprint": fingerprint_of(routes, [about["fingerprint"] for about in abouts]),
            "features": "",
            "columns": list(dict.fromkeys(columns)),
            "versions": versions(),
            "registered": "",
            "routes": {route.name: about for route, about in zip(routes, abouts, strict=True)},
        }
        return cls(
            first.scorer, limits, about, defaults=first.defaults, bounds=first.bounds, routes=routes,
            services=services,
        )  # fmt: skip

    def _check(self, extras: protocol.Extras) -> None:
        for service in self.services:
            service._check(extras)

    def _scored(
        self, parsed: protocol.Parsed, extras: protocol.Extras, stopped: Callable[[], bool]
    ) -> tuple[list[dict[str, Any]], Counts | None]:
        columns = columns_of(self.routes)
        rows = parsed.needed(columns)
        chosen = [
            next((i for i, route in enumerate(self.routes) if route.takes(row)), None) for row, _ in rows
        ]
        no_route = f"no route for its {' and '.join(columns)}"
        answers: list[dict[str, Any]] = [{"score": None, "reason": reason or no_route} for _, reason in rows]
        for number, service in enumerate(self.services):
            positions = [i for i, route in enumerate(chosen) if route == number]
            if positions:
                part = replace(parsed, rows=[parsed.rows[i] for i in positions])
                scored, _ = service._scored(part, extras, stopped)
                for i, row in zip(positions, scored, strict=True):
                    answers[i] = row
        names = dict.fromkeys(name for answer in answers for name in answer)
        return [{name: answer.get(name) for name in names} for answer in answers], None
