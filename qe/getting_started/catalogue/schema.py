"""JSON Schema of the experiment file, with all known names and keys."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_origin, get_type_hints

from pydantic import BeforeValidator, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from features.basics.catalogue import Catalogue
from features.core.bundle import known_parts, resource_parameters
from features.core.configured import Configured
from features.core.extractor import Extractor
from features.core.feature_set import EXTRACTORS, set_names
from features.core.tree_columns import TREES
from qe.config.experiment import Experiment, SearchSection, SplitSection
from qe.data.format import FORMATS
from qe.language.engine import ENGINES
from qe.learning.learner import LEARNERS
from qe.learning.parameters import Parameters, constructor
from qe.learning.selector import SELECTORS
from qe.statistics.metric import METRICS

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_STRATEGIES: Mapping[str, Catalogue[Any]] = {"learner": LEARNERS, "selection": SELECTORS}


def experiment_schema() -> Schema:
    """The schema of draft 2020-12; it knows no files and no data."""
    schema: Schema = Experiment.model_json_schema()
    sections, keys = schema["$defs"], schema["properties"]
    metric = {"enum": [*METRICS.names]}
    sections["SearchSection"]["properties"]["objective"]["items"] = metric
    sections["EvaluationSection"]["properties"]["metric"] |= metric
    for name in ("settings", "read"):
        sections["ResourcesSection"]["properties"][name]["propertyNames"] = {"enum": [*known_parts()]}
    keys["dataset"]["items"] = _dataset(sections.pop("DatasetSection"))
    keys["features"]["items"] = _features()
    keys["trees"]["items"] = _by_kind(TREES.names, lambda name: _of_class(TREES.get(name)))
    keys["translations"]["additionalProperties"] = {"enum": [*ENGINES.names]}
    strategy = sections.pop("StrategySection")
    for name, catalogue in _STRATEGIES.items():
        keys[name]["items"] = _strategy(strategy, catalogue)
    for model, properties in (
        (Experiment, keys),
        *((model, sections[model.__name__]["properties"]) for model in (SplitSection, SearchSection)),
    ):
        for name, field in model.model_fields.items():
            prepared = any(isinstance(note, BeforeValidator) for note in field.metadata)
            if prepared and get_origin(field.annotation) is tuple:  # a single entry stands for a list
                name = field.alias or name
                listed = properties[name]
                about = {key: listed.pop(key) for key in ("title", "description", "default") if key in listed}
                properties[name] = {**about, "anyOf": [listed["items"], listed]}
    keys["tracking"] = {"anyOf": [keys["tracking"], {"enum": [True, False, "on", "off"]}]}
    _allow_extending(schema)
    return {"$schema": DIALECT, **schema}


def _allow_extending(schema: Schema) -> None:
    keys = schema["properties"]
    partial = [name for name in ("dataset", *_STRATEGIES) if name in keys]
    whole = {name: {"anyOf": [{"type": "array"}, _needed(keys[name]["anyOf"][0])]} for name in partial}
    keys["extends"] = {"type": "string", "description": "An experiment file next to this one."}
    entry = keys["features"]["items"]
    removed = {"anyOf": [{"enum": [*EXTRACTORS.names]}, {"type": "object", "required": ["set"]}]}
    changes = {
        "type": "object",
        "properties": {
            "remove": {"anyOf": [removed, {"type": "array", "items": removed}]},
            "add": {"anyOf": [entry, {"type": "array", "items": entry}]},
        },
        "additionalProperties": False,
        "minProperties": 1,
    }
    keys["features"] = {"anyOf": [keys["features"], changes]}
    schema["if"] = {"required": ["extends"]}
    schema["else"] = {
        "required": schema.pop("required"),
        "properties": {**whole, "features": {"type": "array"}},
    }
    for name in partial:
        single, listed = keys[name]["anyOf"]
        keys[name]["anyOf"] = [_without_needed(single), listed]


def _needed(schema: Schema) -> Schema:
    rules = [{"if": rule["if"], "then": _needed(rule["then"])} for rule in schema.get("allOf", ())]
    return {"required": schema.get("required", []), "allOf": [{}, *rules]}


def _without_needed(schema: Schema) -> Schema:
    rules = [{"if": rule["if"], "then": _without_needed(rule["then"])} for rule in schema.get("allOf", ())]
    return {key: value for key, value in schema.items() if key != "required"} | (
        {"allOf": rules} if rules else {}
    )


def _dataset(section: Schema) -> Schema:
    common: Schema = {**section["properties"], "format": {"enum": [*FORMATS.names]}}
    single = common["train"]["items"]
    common["train"] = {**common["train"], "anyOf": [single, {"type": "array", "items": single}]}
    del common["train"]["items"], common["train"]["type"]
    return {
        "description": section["description"],
        "type": "object",
        "properties": common,
        "required": ["format", "path"],
        "allOf": [_if("format", name, _of_class(FORMATS.get(name), [*common])) for name in FORMATS.names],
    }


def _features() -> Schema:
    by_name: Schema = {"enum": [*EXTRACTORS.names]}
    of_set = {
        "type": "object",
        "properties": {
            "set": {"enum": [*set_names()]},
            "without": {"type": "array", "items": {"enum": [*EXTRACTORS.names]}},
        },
        "required": ["set"],
        "additionalProperties": False,
    }
    return {"anyOf": [by_name, of_set, _by_kind(EXTRACTORS.names, _of_family)]}


def _of_family(name: str) -> Schema:
    family = EXTRACTORS.get(name)
    kinds = dict.fromkeys([family, *(family.for_settings(settings) for settings in family.variants)])
    schemas = [_of_extractor(kind) for kind in kinds]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _of_extractor(kind: type) -> Schema:
    schema = _of_class(kind, ("kind",))
    for name, catalogue in Configured(kind, {}, "").lists.items():
        known = {each: _of_extractor(catalogue.get(each)) for each in catalogue.names}
        entry = {"anyOf": [{"enum": [*known]}, _by_kind(known, known.__getitem__)]}
        schema["properties"][name] = {"type": "array", "items": entry}
    for name in resource_parameters(kind):
        schema["properties"][name] = {"type": "string"}
        if name in schema.get("required", ()):
            schema["required"].remove(name)
    if issubclass(kind, Extractor):
        schema["properties"]["only"] = _of_hint(list[str])
    return schema


def _strategy(section: Schema, catalogue: Catalogue[Any]) -> Schema:
    properties = {**section["properties"], "kind": {"enum": [*catalogue.names]}}
    rules = [
        _if("kind", name, {"properties": {"params": _parameters(catalogue, name)}})
        for name in catalogue.names
    ]
    return {**section, "properties": properties, "allOf": rules}


def _parameters(catalogue: Catalogue[Any], name: str) -> Schema:
    try:
        known = Parameters.from_constructor(constructor(catalogue, name), name)
    except ModuleNotFoundError:
        return {"type": "object"}
    typed = {key: _of_hint(known.hints[key]) if key in known.hints else {} for key in known.names}
    return {"type": "object", "properties": typed, "additionalProperties": False}


def _by_kind(names: Iterable[str], keys: Callable[[str], Schema]) -> Schema:
    known = [*names]
    return {
        "type": "object",
        "properties": {"kind": {"enum": known}},
        "required": ["kind"],
        "allOf": [_if("kind", name, keys(name)) for name in known],
    }


def _if(key: str, value: str, then: Schema) -> Schema:
    return {"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": then}


def _of_class(kind: type, extra_keys: Iterable[str] = ("kind",)) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    entries: list[Field[Any]] = [e for e in fields(kind) if e.init] if is_dataclass(kind) else []
    needed = [e.name for e in entries if e.default is MISSING and e.default_factory is MISSING]
    texts = ((each.__name__, each.__doc__ or "") for each in kind.__mro__)
    # A dataclass without a docstring has its signature there.
    written = (inspect.cleandoc(text) for name, text in texts if text and not text.startswith(f"{name}("))
    return {
        "description": next(written, ""),
        "properties": {
            **{key: {} for key in extra_keys},
            **{e.name: _of_hint(hints[e.name]) for e in entries},
        },
        "required": needed,
        "additionalProperties": False,
    }


def _of_hint(hint: Any) -> Schema:
    try:
        return TypeAdapter(hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return {}
