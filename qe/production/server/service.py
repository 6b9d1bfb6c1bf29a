"""Service: a loaded model, and what it answers to the body of a request."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from features.basics.errors import InputError
from qe.models.drift import Counts, Profile
from qe.models.held_out import HeldOutPredictions
from qe.models.versions import versions
from qe.production.server import openapi
from qe.production.server.answers import Answer, Refused, json_answer
from qe.production.server.extras import Extras, requested_extras
from qe.production.server.limits import Limits
from qe.production.server.parsing import Kind, Parsed, parse
from qe.production.server.quality import Quality, bounds
from qe.production.server.recent import Recent
from qe.production.thresholds import Thresholds
from qe.scoring.scorer import Options, Scorer

DRIFT_ROWS = 10_000
_BLOCK, _EXPLAINED = 500, 25  # rows that are scored, and explained, before a request can be given up
_TRIED = 0.9  # level to ask the model's intervals for when they are loaded: any


@dataclass(frozen=True, eq=False)
class Service:
    """Scores the rows of requests, in several threads at a time.

    scorer      the model with its intervals and explanations, as far as it has them
    lacks       extra -> why the model cannot give it
    thresholds  of triage; None: it is refused
    defaults    extras of a request that names none
    about       what /version says
    bounds      upper bounds of a histogram of scores
    recent      the last segments, where the model has a profile of its training data
    """

    scorer: Scorer
    limits: Limits
    about: Mapping[str, Any]
    lacks: Mapping[str, str] = field(default_factory=dict)
    thresholds: Thresholds | None = None
    defaults: Extras = field(default_factory=Extras)
    bounds: Sequence[float] = ()
    recent: Recent | None = None

    @classmethod
    def load(
        cls,
        folder: Path,
        limits: Limits,
        *,
        identity: str | None = None,
        level: float | None = None,
        triage: Path | None = None,
        registered: tuple[str, str] | None = None,
        drift_rows: int = DRIFT_ROWS,
    ) -> Self:
        """The model of a folder.

        `level` is of intervals that every answer has, `triage` a file of thresholds.

        identity    of the model that must lie there, if it is known
        registered  its name and version in the registry, if it comes from there
        drift_rows  how many of the last segments are looked at beside the training data; 0: none

        Raises InputError if the model cannot be loaded, has no intervals though a level is given, and
        for a file without thresholds.
        """
        # No cache: threads share the scorer.
        scorer = plain = Scorer.load(folder, Options(level=level, drift=False, cache=0), identity=identity)
        lacks = {}
        for name, options in {
            "interval": Options(level=level or _TRIED),
            "explain": Options(explain=1),
        }.items():
            try:
                loaded = Scorer.load(folder, replace(options, drift=False), scorer.model)
            except InputError as error:
                lacks[name] = error.problem
            else:
                scorer = replace(
                    scorer,
                    intervals=loaded.intervals or scorer.intervals,
                    explainer=loaded.explainer or scorer.explainer,
                )
        thresholds = None if triage is None else Thresholds.read(triage, scorer.model.scale)
        _warm(plain)
        about = _about(plain) | {"registered": "" if registered is None else "/".join(registered)}
        recent = None
        if drift_rows and Profile.exists(folder):
            profile = Profile.load(folder)
            scorer, recent = replace(scorer, profile=profile), Recent(profile, drift_rows)
        extras = Extras(interval=level)
        return cls(scorer, limits, about, lacks, thresholds, extras, _bounds(folder, plain), recent)

    def answer(
        self, body: bytes, kind: Kind, query: bytes, stopped: Callable[[], bool] = lambda: False
    ) -> Answer:
        """The answer to a body. Raises Refused if there is none, and if `stopped` says so meanwhile."""
        try:
            parsed = parse(body, kind, self.limits)
            extras = requested_extras(query, parsed.params, self.defaults)
            self._check(extras)
            rows, looks = self._scored(parsed, extras, stopped)
        except InputError as error:
            raise Refused(422, str(error)) from None
        except RecursionError:
            raise Refused(422, "a value is nested too deeply") from None
        return json_answer({"predictions": rows}, rows=len(rows), quality=Quality.from_rows(rows, looks))

    @cached_property
    def description(self) -> Answer:
        """What the server answers with this model (OpenAPI)."""
        return json_answer(openapi.document(self.about, self.limits))

    @cached_property
    def page(self) -> Answer:
        """The description as a page."""
        content = openapi.page(openapi.document(self.about, self.limits)).encode("utf-8")
        return Answer(200, content, "text/html; charset=utf-8", {"Content-Security-Policy": openapi.POLICY})

    def _check(self, extras: Extras) -> None:
        if extras.interval is not None and "interval" in self.lacks:
            raise Refused(422, self.lacks["interval"])
        if extras.explain and "explain" in self.lacks:
            raise Refused(422, self.lacks["explain"])
        if extras.triage and self.thresholds is None:
            raise Refused(422, "this server has no thresholds of triage; start it with --triage")

    def _scored(
        self, parsed: Parsed, extras: Extras, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[list[dict[str, Any]], Counts | None]:
        options = Options(
            level=extras.interval,
            explain=extras.explain,
            drift=False,
            cache=0,
            outside=self.scorer.model.guard is not None,
            triage=self.thresholds if extras.triage else None,
        )
        names = [name for name in options.columns if name != "id"]
        # Intervals may need columns of their own: they are asked for with them alone.
        intervals = None if extras.interval is None else self.scorer.intervals
        explainer = self.scorer.explainer if extras.explain else None
        scorer = replace(self.scorer, options=options, intervals=intervals, explainer=explainer)
        needed, size = parsed.needed(scorer.columns()), _EXPLAINED if extras.explain else _BLOCK
        answers, counts = list[dict[str, Any]](), None
        for start in range(0, len(needed), size):
            if stopped():
                raise Refused(503, "the request was given up")
            scored = scorer.score(needed[start : start + size])
            answers += [{name: _plain(row[name]) for name in names} for row in scored.rows]
            if scored.counts is not None:
                counts = scored.counts if counts is None else counts + scored.counts
        return answers, counts


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _bounds(folder: Path, scorer: Scorer) -> list[float]:
    scale = scorer.model.scale
    known = HeldOutPredictions.load(folder).predicted if HeldOutPredictions.exists(folder) else np.array([])
    return bounds(scale.low, scale.high, known)


def _warm(scorer: Scorer) -> None:
    if set(scorer.columns()) == {"source", "target"}:  # other columns have forms of their own
        scorer.score([({"source": "a", "target": "a"}, "")])


def _about(scorer: Scorer) -> dict[str, Any]:
    model = scorer.model
    return {
        "model": model.name,
        "fingerprint": model.identity,
        "features": model.feature_set.fingerprint,
        "columns": list(scorer.columns()),
        "versions": versions(),
    }
