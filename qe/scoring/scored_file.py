"""ScoredFile: what a scoring job did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qe.display.summary import summarised
from qe.models.drift import DriftReport


@dataclass(frozen=True)
class RouteDone:
    """What became of the rows of a route."""

    rows: int
    scored: int
    drift: DriftReport | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values only."""
        return {**vars(self), "drift": None if self.drift is None else self.drift.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RouteDone":
        """What `to_json` gave."""
        drift = content["drift"]
        return cls(content["rows"], content["scored"], drift and DriftReport.from_json(drift))


@summarised
@dataclass(frozen=True)
class ScoredFile:
    """What a scoring job did.

    Attributes
    ----------
    repeated : int
        Rows that took the score of an equal segment.
    drift : DriftReport or None
        How the scored rows, but for the known ones, differ from the training data; None for a model
        without a profile.
    actions : mapping of str to int
        How many rows each action was chosen for; empty without triage.
    flagged : mapping of str to int
        How many rows have a flag of each kind.
    not_checked : mapping of str to str
        Kinds of flags that could not be looked for -> why.
    notes : sequence of str
        How the input was read, where it was seen and not said.
    unchanged : bool
        Whether the output was there before, made by the same job, so that nothing was to do.
    known : int
        Rows that kept the score of an earlier job.
    routes : mapping of str to RouteDone
        Of several models: name of a route -> its rows; their drift stands there.
    recipe : str
        Fingerprint of all that a row's output depends on beside the row: model, options, release.
    """

    rows: int
    scored: int
    reasons: Mapping[str, int]
    resumed_chunks: int
    repeated: int
    drift: DriftReport | None = None
    actions: Mapping[str, int] = field(default_factory=dict)
    flagged: Mapping[str, int] = field(default_factory=dict)
    not_checked: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    unchanged: bool = False
    recipe: str = ""
    known: int = 0
    routes: Mapping[str, RouteDone] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Any]:
        """How many rows there were, and what became of them."""
        values = {name: getattr(self, name) for name in ("rows", "scored", "known", "repeated", "unchanged")}
        return {**values, "reasons": dict(self.reasons)}

    @property
    def warnings(self) -> tuple[str, ...]:
        """How the input departs from the training data, of any model."""
        of_routes = (
            f"{name}: {warning}"
            for name, route in self.routes.items()
            for warning in (() if route.drift is None else route.drift.warnings)
        )
        return (*(() if self.drift is None else self.drift.warnings), *of_routes)

    def to_json(self) -> dict[str, Any]:
        """Plain values only."""
        values = {
            name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()
        }
        routes = {name: route.to_json() for name, route in self.routes.items()}
        return {**values, "drift": None if self.drift is None else self.drift.to_json(), "routes": routes}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], **changes: Any) -> "ScoredFile":
        """What `to_json` gave, with changes."""
        drift = content["drift"]
        known = {**content, "drift": drift and DriftReport.from_json(drift), "notes": tuple(content["notes"])}
        known["routes"] = {name: RouteDone.from_json(route) for name, route in content["routes"].items()}
        return cls(**{**known, **changes})
