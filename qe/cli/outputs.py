"""Types of what verbs write for machines, from which `qe schema NAME` makes JSON Schemas.

A record is its own type. Further keys may come, and a number is null if it is undefined.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, NotRequired, Union, get_type_hints

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from features.basics.errors import unknown_name
from qe.display.output_schemas import SCHEMA
from qe.evaluation.leaderboard import BoardOfPairs
from qe.evaluation.power import PowerReport
from qe.getting_started.catalogue.strategies import Strategy
from qe.production.promotion import Decision
from qe.scoring.job_summary import ScoredFile


def _object(name: str, keys: Mapping[str, Any]) -> Any:
    """The type of a mapping with these keys; those that end in `?` may be absent."""
    optional = {key: NotRequired[kind] for key, kind in keys.items() if key.endswith("?")}
    return TypedDict(name, {key.removesuffix("?"): optional.get(key, keys[key]) for key in keys})  # type: ignore


def _list(kind: Any) -> Any:
    return list[kind]


def _map(kind: Any) -> Any:
    return dict[str, kind]


Object = dict[str, Any]
List = list[Any]
Texts = list[str]
Versions = dict[str, str]
Numbers = dict[str, float]
Count = Annotated[int, Field(ge=0)]
Counts = dict[str, Count]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]
Interval = tuple[float, float] | None
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


# The model that made the scores, or the models by routes; `signed_by`: SHA-256 of the public key.
MODEL: Final = {
    "named": str, "name": str, "registered": str | None, "version": str | None, "signed_by": str | None,
    "fingerprint": Annotated[str, Field(pattern="^[0-9a-f]{16,64}$")],
}  # fmt: skip
Model = _object("Model", {**MODEL, "routes?": _map(_object("Route", MODEL))})
Pair = _object("Pair", {
    "system": str, "baseline": str, "metric": str, "difference": float, "p": Share, "test": str,
    "p_corrected": Share, "ci": Interval,
})  # fmt: skip
Folds = _object("Folds", {"values": list[float], "mean": float, "sd": float})
Folded = _object("Folded", {"n": Count, "ci": dict[str, Interval], "per_fold?": _map(Folds)})
System = _object("System", {"n": Count, "ci?": dict[str, tuple[float, float]]})
EVALUATION: Final = {
    "systems": _map(System), "comparisons": _list(Pair), "baselines?": Texts, "recipe?": Object,
    "notes?": Texts, "oracles?": Object, "bayesian?": List,
}  # fmt: skip
Figures = _object("Figures", {
    "systems": _map(Folded), "comparisons": _list(Pair), "baselines": Texts, "recipe": Object,
})  # fmt: skip
Tags = _object("Tags", {
    "segments": Count, "tags": Count, "bad": Count, "systems": dict[str, Object], "comparisons": List,
    "recipe": Object, "notes": Texts,
})  # fmt: skip
Encoder = _object("Encoder", {
    "name": str, "folder": str, "source": str, "revision": str, "licence": str, "size": Count, "problem": str,
})  # fmt: skip
Score = _object("Score", {"mean": float, "runs": list[float], "ci": Interval, "signature": str})
Input = _object(
    "Input", {"path": str, "bytes": Count, "sha256": Sha256, "side?": Literal["source", "target"]}
)
Group = _object("Group", dict.fromkeys(
    ("publish", "labels", "published", "published_bad", "p", "needed"), Any,
))  # fmt: skip

OUTPUTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "ablate": (EVALUATION, {"candidate": Object, "columns": Counts, "learning_curve": dict[str, Numbers]}),
    "ablate-sizes": ({
        "candidate": Object, "learning_curve": _list(_object("Size", {"rows": Count, "draws": Any})),
        "percentage_slope": Numbers, "alone?": Object,
    },),
    "annotate-evaluate": ({},),
    "annotate-project": ({"output": str},),
    "annotate-run": ({"output": str, "lines": Count, "tokens": Count},),
    "annotate-train": ({"task": str, "output": str, "settings": Object},),
    "cache-list": ({
        "folder": str,
        "entries": _list(_object("Entry", {"kind": str, "path": str, "bytes": Count, "days": float})),
    },),
    "cache-prune": ({"folder": str, "removed": Count, "found": Count, "bytes": Count},),
    "compare": ({
        "recipe": Object,
        "systems": _map(_map(Score)),
        "comparisons": _list(Pair), "ranks": Object, "buckets": Object | None, "single_runs": List,
        "power?": List,
    },),
    "compare-data-sets": (BoardOfPairs,),
    "correlate": ({
        "name": str, "metrics": Texts, "correlations": Object, "recipe": Object, "notes": Texts,
    },),
    "correlate-pairs": ({"averages": Object, "pairs": Object},),
    "data-check": ({
        "name": str, "format": str, "label": Object, "splits": Object, "overlaps": dict[str, Counts],
        "notes": Texts, "defects": Texts, "unreadable": Texts, "provenance": Versions,
    },),
    "effort": ({
        "segments": Count, "sets": Object, "correlations": dict[str, List], "notes": Texts, "recipe": Object,
    },),
    "encoders-check": ({
        "folder": str, "dimensions": Count, "vectors_of_tokens": bool, "prompt": str, "cosines": List,
        "aligned": bool, "pairs_per_cpu_second": float,
    },),
    "encoders-list": ({"folder": str, "encoders": _list(Encoder)},),
    "encoders-made": (Encoder,),
    "encoders-quantize": ({"folder": str, "speed": list[float], "size": list[Count], "cosine": float},),
    "evaluate": (EVALUATION,),
    "evaluate-words": (dict.fromkeys(("words?", "gaps?", "source?"), Tags),),
    "features-consistency": ({"repeated_phrases": float, "documents": float},),
    "features-describe": ({"name": str, "features": _list(_object("Feature", {"name": str}))},),
    "features-list": (dict.fromkeys(("families", "sets"), _list(_object("Named", {"name": str}))),),
    "filter": ({"pairs": Count, "kept": Count, "refused": Counts},),
    "init": ({
        "experiment": str, "segments": Count, "columns": Object,
        "label": _object("Direction", {"name": Any, "higher_is_better": Any}),
        "labels": _object("Range", {"low": Any, "high": Any}), "notes": Texts,
    },),
    "labels": ({"corpus": Object},),
    "labels-judges": ({
        "judges": _object("Judges", {
            "segments": Count, "excluded": Count, "weights": list[float], "mean": float, "sd": float,
        }),
    },),
    "models-delete": ({"deleted": bool, "versions": Texts},),
    "models-list": ({
        "models": _list(_object("Version", {
            "name": str, "version": str, "aliases": Texts, "tags": Versions, "metrics": Numbers,
            "run_id": str, "created": str, "uri": str,
        })),
    },),
    "models-sign": ({"model": str, "key": str},),
    "power": (PowerReport,),
    "promote": (Decision,),
    "promote-rollback": ({"name": str, "demoted": str, "champion": str},),
    "rank": ({"rankings": dict[str, Object]},),
    "reproduce": ({
        "figures": Count, "same": bool, "differences": List, "made_with": List, "notes": Texts,
    },),
    "resources-build": ({"parts": Object, "source_tokenizer": Object, "target_tokenizer": Object},),
    "resources-list": ({
        "parts": _list(_object("Part", {"name": str, "kind": str, "needs": Texts, "settings": Object})),
    },),
    "robustness": ({
        "rows": Count, "marked": float, "perturbations": list[Object],
        "destroyed_below": _object("Destroyed", {"mean": Any, "least": Any, "kind": Any}),
    },),
    "score": (ScoredFile, {"output": str, "model": Model}),
    "score-spark": ({
        **{name: kind for name, kind in get_type_hints(ScoredFile).items() if name in (
            "rows", "scored", "reasons", "drift", "actions", "flagged", "not_checked",
        )}, "output": str,
    },),
    "select": ({
        "by": str, "segments": Count, "documents": Count, "best": str, "scores": dict[str, Numbers],
        "shares": dict[str, Numbers], "divergence": Numbers, "randomization": List, "bootstrap": List,
        "document_scores": Object, "recipe": Object,
    },),
    "select-model": ({"segments": Count, "shares": Numbers, "output": str},),
    "strategies": (dict.fromkeys(("learners?", "selectors?"), list[Strategy]),),
    "strategy": (Strategy,),
    "suggest": ({
        "suggested": Count, "candidates": Count, "labelled": Count, "refused": Counts, "output": str,
    },),
    "terrorcat-confusion": ({
        "labels": Texts, "decisions": List, "counts": List, "precision": List, "recall": List,
    },),
    "terrorcat-score": ({"systems": Numbers, "segments": Count},),
    "terrorcat-train": ({"output": str, "slope": float},),
    "train-check": ({
        "experiments": _list(_object("Plan", {
            "name": str, "dataset": str, "extractors": Texts, "resources": Any, "folds": Any,
            "needs": list[Object],
        })),
    },),
    "train-print": ({"experiments": list[Object]},),
    "train-runs": ({"reports": _list(_object("Run", {"schema": Any, "experiment": Any}))},),
    "triage": ({"publish": float, "retranslate": float, "verdict": str, "model?": Model},),
    "triage-groups": ({
        "bad": str, "risk": float, "confidence": float, "documents": bool, "verdict": str,
        "groups": _map(Group),
    },),
    "unsupervised": ({"model": str, "segments": Count, "features": Texts, "label": str, "recipe": Object},),
    "summary": (ScoredFile, {
        "kind": Literal["scoring job"], "model": Model, "packages": Versions,
        "inputs": Annotated[_list(Input), Field(min_length=1)],
        "output": _object("File", {"path": str, "sha256": Sha256}), "options": Object, "begun": datetime,
        "ended": datetime, "seconds": Seconds,
    }),
    "report": ({
        "experiment": Object,
        "recipe": _object("Recipe", {
            "seed": int, "versions": Versions, "python": str, "dataset": str, "features": str,
            "resources": Versions, "files": dict[str, Sha256],
        }),
        "data": _object("Data", {
            "name": str, "splits": Counts, "notes": Texts, "leaks": List,
            "label": _object("Label", {"name": str, "low": float, "high": float, "higher_is_better": bool}),
        }),
        "features": _object("Features", {"n": Count, "names": Texts, "undefined": Counts}),
        "search": _object("Search", {
            "trials": Count, "ended": str, "failures": List, "best_values": Numbers,
            "objective": Annotated[Texts, Field(min_length=1)],
            "best": _object("Best", dict.fromkeys(
                ("learner", "learner_params", "selector", "selector_params"), Any,
            )),
        }),
        **dict.fromkeys(("cross_validation", "nested", "test"), Figures | None),
        "robustness": _object("Robustness", {
            "of": Any, "rows": Count, "destroyed_below": Any, "perturbations": Any,
        }) | None,
        "words": Object | None, "model": Object,
        "intervals": _object("Intervals", dict.fromkeys(("method", "n", "coverage"), Any)) | None,
        "seconds": Seconds,
        "time": _list(_object("Time", {"part": str, "seconds": float, "cpu_seconds": float})),
        "registration": _object("Registration", dict.fromkeys(
            ("name", "version", "uri", "champion"), Any,
        )) | None,
    },),
}  # fmt: skip
_LINE: Final = {"time": datetime, "verb": str}
_EVENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "begin": {**_LINE, "model": Model, "output": str, "inputs": Texts},
    "stage": {**_LINE, "stage": str, "done": Count, "total": int | None, "seconds": Seconds},
    "message": {**_LINE, "event": Literal["note", "warning", "failed"], "message": str},
    "end": {**_LINE, "output": str, "rows": Count, "scored": Count, "reused": Count, "repeated": Count,
            "unchanged": bool, "reasons": Counts, "seconds": Seconds},
    "error": {**_LINE, "verb?": str, "message": str, "exit": Annotated[int, Field(ge=1)]},
}  # fmt: skip
# What the types of keys do not say.
_FURTHER: Final[Mapping[str, Mapping[str, Any]]] = {
    "annotate-evaluate": {"additionalProperties": {"type": ["number", "null", "boolean", "object"]}},
    "evaluate-words": {"minProperties": 2}, "strategies": {"minProperties": 2},
}  # fmt: skip
_TITLES: Final = {
    "report": "Report of a training run (report.json)", "summary": "Summary of a scoring job (OUTPUT.json)",
    "log": "A line of `--log json`",
}  # fmt: skip


class _Schema(GenerateJsonSchema):
    def float_schema(self, schema: Any) -> dict[str, Any]:
        return {**super().float_schema(schema), "type": ["number", "null"]}

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)


def output_names() -> tuple[str, ...]:
    return tuple(sorted([*OUTPUTS, "log"]))


def output_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of an output, with all that it refers to."""
    if name not in output_names():
        raise unknown_name("output", name, ("experiment", *output_names()))
    if name == "log":
        kind: Any = Union[*(_object(event, {"event": Literal[event], **_EVENTS[event]}) for event in _EVENTS)]
    else:
        keys: dict[str, Any] = {"schema": Literal[SCHEMA]}
        for part in OUTPUTS[name]:
            keys |= part if isinstance(part, dict) else get_type_hints(part, include_extras=True)
        kind = _object(name, keys)
    schema = TypeAdapter(kind).json_schema(mode="serialization", schema_generator=_Schema)
    title = _TITLES.get(name, f"What `qe {name.replace('-', ' ')}` prints with --json")
    further = _FURTHER.get(name, {})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title, **further}
